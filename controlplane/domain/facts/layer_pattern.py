"""Which layers attend to everything, to a window, or keep a state; and which hold experts."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.architectures import MAMBA_MODEL_TYPES, RECURRENT_ONLY_MODEL_TYPES
from controlplane.domain.facts.families import SLIDES_IF_SET, SLIDING_EVERY
from controlplane.domain.facts.kv_families import keeps_plain_attention
from controlplane.domain.facts.layers import Mixer
from controlplane.domain.facts.shape import Shape

Pattern = tuple[Mixer, ...]
MOST_LAYERS = 2048
"""More than any model has; a file that says more is not believed."""
_BY_WORD: Mapping[str, Mixer] = MappingProxyType({
    "full_attention": Mixer.ATTENTION, "attention": Mixer.ATTENTION, "hybrid": Mixer.ATTENTION,
    "deepseek_sparse_attention": Mixer.ATTENTION, "indexed_attention": Mixer.ATTENTION,
    "global_attention": Mixer.ATTENTION, "sliding_attention": Mixer.SLIDING,
    "chunked_attention": Mixer.SLIDING, "hybrid_sliding": Mixer.SLIDING,
    "local_attention": Mixer.SLIDING, "linear_attention": Mixer.LINEAR, "mamba": Mixer.MAMBA,
    "mamba2": Mixer.MAMBA, "conv": Mixer.CONVOLUTION, "recurrent": Mixer.RECURRENT,
    "moe": Mixer.NONE, "mlp": Mixer.NONE,
})  # fmt: skip
_BY_LETTER = MappingProxyType({"M": Mixer.MAMBA, "*": Mixer.ATTENTION})
_ALWAYS_LOCAL = frozenset({"recurrent_gemma"})
"""Families whose attention sees a window only, whatever their words for it."""
_WITHOUT_EXPERTS = frozenset({"dense", "mlp", "mamba", "attention"})


def mixers(shape: Shape) -> Pattern:
    """Return the mixer of each layer, in order; empty where the number of layers is not known."""
    count = shape.layers
    if not count or count > MOST_LAYERS:
        return ()
    for read in _READERS:
        if (pattern := read(shape, count)) is not None:
            return pattern
    # What a family that nobody looked at keeps is not known, however plain its numbers look.
    plain = Mixer.ATTENTION if keeps_plain_attention(shape.model_type) else Mixer.UNKNOWN
    return (plain,) * count


def window_of(shape: Shape) -> int | None:
    window = numbers.number(shape.config, "sliding_window")
    return window or (shape.extra("attention_chunk_size") or None)


def holds_experts(shape: Shape) -> Callable[[int], bool]:
    """Return whether the layer of that number, from 0, has experts instead of one MLP."""
    config, experts = shape.config, shape.experts or 0
    if experts < 2 or numbers.flag(config, "enable_moe_block") is False:
        return lambda layer: False
    listed = numbers.numbers(config, "moe_layer_freq")
    if len(listed) > 1:
        return lambda layer: bool(listed[layer]) if layer < len(listed) else True
    if kinds := numbers.words(config, "mlp_layer_types"):
        return lambda layer: layer >= len(kinds) or kinds[layer] not in _WITHOUT_EXPERTS
    if chosen := numbers.numbers(config, "moe_layers"):
        return lambda layer: layer in chosen
    if period := numbers.number(config, "expert_layer_period"):
        offset = numbers.number(config, "expert_layer_offset") or 0
        return lambda layer: layer % period == offset
    return _by_step(shape)


def _by_step(shape: Shape) -> Callable[[int], bool]:
    config, first = shape.config, shape.first_dense_layers
    step = (
        numbers.first_number(
            config, "interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_interval"
        )
        or 1
    )
    frequency = numbers.number(config, "moe_layer_freq") or 1
    dense = frozenset(numbers.numbers(config, "mlp_only_layers"))
    last = numbers.number(config, "moe_layer_end_index") or MOST_LAYERS
    return lambda layer: (
        first <= layer <= last
        and (layer + 1) % step == 0
        and layer % frequency == 0
        and layer not in dense
    )


def _by_letters(shape: Shape, count: int) -> Pattern | None:
    letters = numbers.text(shape.config, "hybrid_override_pattern")
    if not letters or len(letters) != count:
        return None
    return tuple(_BY_LETTER.get(letter, Mixer.NONE) for letter in letters)


def _by_words(shape: Shape, count: int) -> Pattern | None:
    config = shape.config
    words = numbers.words(config, "layer_types", "layers_block_type")
    if not words and (repeated := numbers.words(config, "block_types", "_block_types")):
        words = (repeated * count)[:count]
    words = words[:count]
    if len(words) != count:
        return None
    pattern = tuple(_BY_WORD.get(word, Mixer.UNKNOWN) for word in words)
    if shape.model_type in _ALWAYS_LOCAL:
        pattern = tuple(Mixer.SLIDING if each is Mixer.ATTENTION else each for each in pattern)
    return pattern if window_of(shape) else tuple(map(_seeing_everything, pattern))


def _by_listed_layers(shape: Shape, count: int) -> Pattern | None:
    config = shape.config
    linear = numbers.mapping(config, "linear_attn_config")
    if full := numbers.numbers({"full": linear.get("full_attn_layers")}, "full"):
        return _choose(count, lambda layer: layer + 1 in full, Mixer.LINEAR)
    if full := numbers.numbers(config, "attn_layer_indices"):
        return _choose(count, lambda layer: layer in full, Mixer.MAMBA)
    if full := numbers.numbers(config, "full_attn_idxs"):
        return _choose(count, lambda layer: layer in full, Mixer.CONVOLUTION)
    kinds = numbers.numbers(config, "attn_type_list")
    if len(kinds) == count and not all(kinds):
        return _choose(count, lambda layer: bool(kinds[layer]), Mixer.LINEAR)
    return None


def _by_interval(shape: Shape, count: int) -> Pattern | None:
    config = shape.config
    if interval := numbers.number(config, "full_attention_interval"):
        return _choose(count, lambda layer: (layer + 1) % interval == 0, Mixer.LINEAR)
    if period := numbers.number(config, "attn_layer_period"):
        offset = numbers.number(config, "attn_layer_offset") or 0
        return _choose(count, lambda layer: layer % period == offset, Mixer.MAMBA)
    if shape.model_type in MAMBA_MODEL_TYPES or _has_mamba_alone(shape):
        return (Mixer.MAMBA,) * count
    if shape.model_type in RECURRENT_ONLY_MODEL_TYPES:
        return (Mixer.RECURRENT,) * count
    return None


def _has_mamba_alone(shape: Shape) -> bool:
    """Bamba attends only in the layers that its file lists."""
    return shape.model_type == "bamba" and numbers.says(shape.config, "attn_layer_indices")


def _by_window(shape: Shape, count: int) -> Pattern | None:
    config = shape.config
    if not window_of(shape) or numbers.flag(config, "use_sliding_window") is False:
        return None
    local = numbers.numbers(config, "hybrid_layer_pattern", "no_rope_layers")
    if len(local) == count:
        return _choose(count, lambda layer: not local[layer], Mixer.SLIDING)
    if shape.model_type == "llama4_text":
        return _every(count, 4)
    letters = numbers.text(config, "sliding_window_pattern")
    if letters:
        return _choose(count, lambda layer: letters[layer % len(letters)] == "G", Mixer.SLIDING)
    every = numbers.first_number(config, "sliding_window_pattern", "_sliding_window_pattern")
    every = every or SLIDING_EVERY.get(shape.model_type or "")
    if every:
        return _every(count, every)
    return _from_a_layer_on(shape, count)


def _from_a_layer_on(shape: Shape, count: int) -> Pattern | None:
    first = 0
    if shape.model_type in SLIDES_IF_SET:
        if not numbers.flag(shape.config, "use_sliding_window"):
            return None
        first = numbers.number(shape.config, "max_window_layers") or 0
    return _choose(count, lambda layer: layer < first, Mixer.SLIDING)


def _every(count: int, interval: int) -> Pattern:
    return _choose(count, lambda layer: (layer + 1) % interval == 0, Mixer.SLIDING)


def _choose(count: int, attends: Callable[[int], bool], other: Mixer) -> Pattern:
    return tuple(Mixer.ATTENTION if attends(layer) else other for layer in range(count))


def _seeing_everything(mixer: Mixer) -> Mixer:
    return Mixer.ATTENTION if mixer is Mixer.SLIDING else mixer


_READERS: tuple[Callable[[Shape, int], Pattern | None], ...] = (
    _by_letters, _by_words, _by_listed_layers, _by_interval, _by_window,
)  # fmt: skip
