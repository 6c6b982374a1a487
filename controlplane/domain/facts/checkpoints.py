"""Reading of a checkpoint's small files. The reader never raises on what it finds."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.adapters import read_adapter
from controlplane.domain.facts.architectures import ROBERTA_MODEL_TYPES
from controlplane.domain.facts.chat_forms import (
    call_form,
    renders_tools,
    template_text,
    thought_form,
)
from controlplane.domain.facts.checkpoint_facts import CheckpointFacts
from controlplane.domain.facts.config_numbers import Config
from controlplane.domain.facts.existing_quantization import (
    ExistingQuantization,
    read_quantization,
)
from controlplane.domain.facts.families import TIED_UNLESS_SET
from controlplane.domain.facts.layer_pattern import window_of
from controlplane.domain.facts.layers import LayerGroup, Mixer
from controlplane.domain.facts.matrices import MatrixKind
from controlplane.domain.facts.parameter_count import Counted, ParameterCounts, count
from controlplane.domain.facts.pooling import read_pooling
from controlplane.domain.facts.rope import Rope
from controlplane.domain.facts.shape import Shape, read_shape
from controlplane.domain.facts.sound_tokens import count_sound_tokens
from controlplane.domain.facts.vision_count import audio_heads, has_vision, vision_heads

__all__ = ["CheckpointFacts", "ExistingQuantization", "read"]

_WEIGHT_SUFFIXES = (".safetensors", ".bin", ".gguf", ".pt", ".pth")
_ADAPTER_PREFIX = "adapter_"
_SAME_IN_SHAPE = (
    "layers", "hidden_size", "attention_heads", "kv_heads", "head_dim", "intermediate_size",
    "vocabulary_size", "experts", "experts_per_token", "moe_intermediate_size", "kv_lora_rank",
    "qk_rope_head_dim",
)  # fmt: skip


def read(
    config: Config,
    *,
    generation_config: Config | None = None,
    tokenizer_config: Config | None = None,
    hf_quant_config: Config | None = None,
    adapter_config: Config | None = None,
    pooling_config: Config | None = None,
    sentence_modules: object = None,
    sentence_lengths: Config | None = None,
    chat_template: str | None = None,
    files: Sequence[str] = (),
    weight_bytes: int | None = None,
    parameters: int | None = None,
    has_chat_template: bool | None = None,
    commit: str | None = None,
    matrices: tuple[MatrixKind, ...] = (),
    by_class: bool = True,
) -> CheckpointFacts:
    """Return the facts of a checkpoint from its parsed small files, whatever they hold.

    Without `by_class` parameters are counted by the layers alone.
    """
    config = config if isinstance(config, Mapping) else {}
    shape = read_shape(config)
    tied = _tied(config, shape)
    counted = count(shape, tied=bool(tied), by_class=by_class)
    names = tuple(str(name) for name in files)
    quantization = read_quantization(config, hf_quant_config, names)
    return CheckpointFacts(
        **_identity(config, shape),
        **_sizes(shape),
        **_positions(config, shape),
        **_layer_facts(shape, counted),
        tied_embeddings=tied,
        **_stored(names, weight_bytes, parameters),
        parameters=_parameters(parameters, counted.parameters, quantization),
        has_chat_template=_has_chat_template(has_chat_template, tokenizer_config, names),
        **_chat(chat_template or template_text(_mapping(tokenizer_config).get("chat_template"))),
        existing_quantization=quantization,
        sound_tokens=count_sound_tokens(_mapping(tokenizer_config)),
        default_temperature=_temperature(generation_config),
        pooling=read_pooling(names, _mapping(pooling_config), sentence_modules),
        sentence_tokens=numbers.number(_mapping(sentence_lengths) or {}, "max_seq_length"),
        adapter=read_adapter(_mapping(adapter_config) or config),
        assumed=_assumed(config, shape, counted.parameters),
        commit=commit,
        matrices=matrices,
    )


def _stored(
    names: tuple[str, ...], weight_bytes: int | None, parameters: int | None
) -> dict[str, Any]:
    return {
        "files": names,
        "parameters_estimated": not parameters,
        "weight_bytes": weight_bytes or None,
        "has_weights": _has_weights(names, weight_bytes),
    }


def _identity(config: Config, shape: Shape) -> dict[str, Any]:
    return {
        "architecture": _architecture(config, shape),
        "model_type": shape.model_type,
        "wrapper_model_type": _wrapper(config, shape),
        "dtype": _dtype(config),
        "attention_bias": numbers.flag(config, "attention_bias"),
        "has_vision": has_vision(config),
        "vision_heads": vision_heads(config),
        "audio_heads": audio_heads(config),
        "is_encoder_decoder": bool(numbers.flag(config, "is_encoder_decoder")),
        "remote_code": isinstance(config.get("auto_map"), Mapping),
        "labels": _labels(config, shape),
        "has_bidirectional_attention": numbers.flag(config, "use_bidirectional_attention") is True
        or numbers.flag(config, "is_causal") is False,
    }


def _chat(template: str | None) -> dict[str, Any]:
    """Nothing is known of a template that was not read."""
    if template is None:
        return {}
    return {
        "renders_tools": renders_tools(template),
        "call_form": call_form(template),
        "thought_form": thought_form(template),
    }


def _sizes(shape: Shape) -> dict[str, Any]:
    return {name: getattr(shape, name) for name in _SAME_IN_SHAPE}


def _positions(config: Config, shape: Shape) -> dict[str, Any]:
    rope = Rope(config)
    trained = shape.positions if rope.multiplies(shape.model_type) else None
    return {
        "max_positions": _max_positions(shape, rope),
        "rope_type": rope.kind,
        "rope_factor": rope.factor,
        "original_positions": rope.original or trained,
    }


def _layer_facts(shape: Shape, counted: Counted) -> dict[str, Any]:
    plain = _is_plain(shape, counted.groups)
    return {
        "sliding_window": _window_in_use(shape, counted.groups),
        "layer_groups": () if plain else counted.groups,
        "draft_layers": numbers.number(shape.config, "draft_layers") or 0,
        "counts": counted.parameters,
    }


def _max_positions(shape: Shape, rope: Rope) -> int | None:
    positions = shape.positions
    if positions is None:
        return None
    if shape.model_type in ROBERTA_MODEL_TYPES and positions > 2:
        return positions - 2
    return rope.stretched(positions, shape.model_type)


def _architecture(config: Config, shape: Shape) -> str | None:
    diffusers = config.get("_class_name")
    named = diffusers if isinstance(diffusers, str) and diffusers else None
    return shape.architecture or named


def _wrapper(config: Config, shape: Shape) -> str | None:
    outer = config.get("model_type")
    return outer if isinstance(outer, str) and outer != shape.model_type else None


def _dtype(config: Config) -> str | None:
    name = numbers.text(config, "dtype", "torch_dtype")
    return name.removeprefix("torch.") if name else None


def _tied(config: Config, shape: Shape) -> bool | None:
    """A wrapper's own answer counts before that of its language part, as in transformers."""
    for part in (config, numbers.text_part(config)):
        if isinstance(is_tied := part.get("tie_word_embeddings"), bool):
            return is_tied
    return shape.model_type in TIED_UNLESS_SET if shape.model_type else None


def _window_in_use(shape: Shape, groups: tuple[LayerGroup, ...]) -> int | None:
    slides = any(group.window for group in groups)
    return window_of(shape) if slides else None


def _is_plain(shape: Shape, groups: tuple[LayerGroup, ...]) -> bool:
    """Return whether the numbers of one layer say what all of them keep."""
    if len(groups) != 1 or groups[0].count != shape.layers:
        return not groups
    group = groups[0]
    if group.mixer is Mixer.LATENT:
        return not group.index_bytes
    same = group.kv_heads == shape.kv_heads
    width = group.numbers_per_head == 2 * (shape.head_dim or 0)
    return group.mixer is Mixer.ATTENTION and same and width


def _parameters(
    stored: int | None, counted: ParameterCounts | None, existing: ExistingQuantization | None
) -> int | None:
    """Headers count packed numbers and scales of a quantized checkpoint, so there the count is."""
    if existing is not None and counted is not None:
        return counted.total
    return stored or (counted.total if counted else None)


def _has_weights(files: Sequence[str], weight_bytes: int | None) -> bool | None:
    if weight_bytes:
        return True
    if not files:
        return None
    names = [str(name).rsplit("/", 1)[-1] for name in files]
    return any(
        name.endswith(_WEIGHT_SUFFIXES) and not name.startswith(_ADAPTER_PREFIX) for name in names
    )


def _has_chat_template(
    known: bool | None, tokenizer_config: Config | None, files: Sequence[str]
) -> bool | None:
    if known is not None:
        return known
    if any(str(name).endswith(("chat_template.jinja", "chat_template.json")) for name in files):
        return True
    if not isinstance(tokenizer_config, Mapping):
        return None
    return bool(tokenizer_config.get("chat_template"))


def _labels(config: Config, shape: Shape) -> int | None:
    architecture = shape.architecture or ""
    if not architecture.endswith(("ForSequenceClassification", "ForTokenClassification")):
        return None
    labels = config.get("id2label")
    given = len(labels) if isinstance(labels, Mapping) and labels else None
    return given or numbers.first_number(config, "num_labels")


def _temperature(generation_config: Config | None) -> float | None:
    return numbers.real(_mapping(generation_config).get("temperature"))


def _assumed(config: Config, shape: Shape, counts: ParameterCounts | None) -> tuple[str, ...]:
    uncounted = has_vision(config) and (counts is None or not counts.vision)
    return (*shape.assumed, "vision tower") if uncounted else shape.assumed


def _mapping(value: Config | None) -> Config:
    return value if isinstance(value, Mapping) else {}
