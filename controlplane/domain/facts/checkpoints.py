"""What a checkpoint is, read from its small files. The reader never raises on what it finds."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.architectures import ROBERTA_MODEL_TYPES, Role, role_of
from controlplane.domain.facts.config_numbers import Config
from controlplane.domain.facts.parameter_count import Shape, count_parameters

_BYTES_PER_NUMBER: Mapping[str, float] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "half": 2, "float": 4,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "int8": 1, "uint8": 1,
}  # fmt: skip
_WEIGHT_SUFFIXES = (".safetensors", ".bin", ".gguf", ".pt", ".pth")
_ADAPTER_PREFIX = "adapter_"


class ExistingQuantization(BaseModel):
    """How a checkpoint was already quantized before it came to us."""

    model_config = ConfigDict(frozen=True)

    method: str
    """`modelopt`, `gptq`, `awq`, `fp8`, `compressed-tensors`, `bitsandbytes`, `gguf`, …"""
    algorithm: str | None = None
    kv_cache: str | None = None

    @property
    def is_fp8(self) -> bool:
        return "fp8" in f"{self.method} {self.algorithm or ''}".lower()

    @property
    def is_fp4(self) -> bool:
        words = f"{self.method} {self.algorithm or ''}".lower()
        return "fp4" in words


class CheckpointFacts(BaseModel):
    """The numbers that rules and the memory plan read. None means that the files do not say."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    architecture: str | None = None
    model_type: str | None = None
    layers: int | None = None
    hidden_size: int | None = None
    attention_heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int | None = None
    vocabulary_size: int | None = None
    max_positions: int | None = None
    dtype: str | None = None
    tied_embeddings: bool | None = None
    attention_bias: bool | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    moe_intermediate_size: int | None = None
    sliding_window: int | None = None
    kv_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    has_vision: bool = False
    remote_code: bool = False
    parameters: int | None = None
    """From safetensors headers where known, else counted from the shape."""
    parameters_estimated: bool = True
    weight_bytes: int | None = None
    """Exact bytes of the weight files, or None where they were not read."""
    has_weights: bool | None = None
    has_chat_template: bool | None = None
    existing_quantization: ExistingQuantization | None = None
    default_temperature: float | None = None
    commit: str | None = None
    files: tuple[str, ...] = ()

    @property
    def role(self) -> Role:
        """What the checkpoint is made to do."""
        return role_of(self.architecture, self.model_type, has_vision=self.has_vision)

    @property
    def bytes_per_number(self) -> float:
        """Bytes of one stored weight; two where the file names no dtype."""
        return _BYTES_PER_NUMBER.get(self.dtype or "", 2.0)

    @property
    def stored_weight_bytes(self) -> int | None:
        """Bytes of the weights as stored: exact where known, else by count and dtype."""
        if self.weight_bytes is not None:
            return self.weight_bytes
        if self.parameters is None:
            return None
        return round(self.parameters * self.bytes_per_number)


def read(
    config: Config,
    *,
    generation_config: Config | None = None,
    tokenizer_config: Config | None = None,
    hf_quant_config: Config | None = None,
    files: Sequence[str] = (),
    weight_bytes: int | None = None,
    parameters: int | None = None,
    has_chat_template: bool | None = None,
    commit: str | None = None,
) -> CheckpointFacts:
    """Return the facts of a checkpoint from its parsed small files, whatever they hold."""
    config = config if isinstance(config, Mapping) else {}
    shape = _shape(config)
    counted = count_parameters(shape)
    return CheckpointFacts(
        architecture=_architecture(config),
        model_type=shape.model_type,
        layers=shape.layers,
        hidden_size=shape.hidden_size,
        attention_heads=shape.attention_heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        intermediate_size=shape.intermediate_size,
        vocabulary_size=shape.vocabulary_size,
        max_positions=_max_positions(config),
        dtype=_dtype(config),
        tied_embeddings=shape.tied_embeddings,
        attention_bias=numbers.flag(config, "attention_bias"),
        experts=shape.experts,
        experts_per_token=numbers.number(config, "experts_per_token"),
        moe_intermediate_size=shape.moe_intermediate_size,
        sliding_window=numbers.number(config, "sliding_window"),
        kv_lora_rank=shape.kv_lora_rank,
        qk_rope_head_dim=numbers.number(config, "qk_rope_head_dim"),
        has_vision=_has_vision(config),
        remote_code=isinstance(config.get("auto_map"), Mapping),
        parameters=parameters or counted,
        parameters_estimated=not parameters,
        weight_bytes=weight_bytes or None,
        has_weights=_has_weights(files, weight_bytes),
        has_chat_template=_has_chat_template(has_chat_template, tokenizer_config, files),
        existing_quantization=_existing_quantization(config, hf_quant_config),
        default_temperature=_temperature(generation_config),
        commit=commit,
        files=tuple(str(name) for name in files),
    )


def _shape(config: Config) -> Shape:
    heads = numbers.number(config, "attention_heads")
    hidden = numbers.number(config, "hidden_size")
    head_dim = numbers.number(config, "head_dim")
    if head_dim is None and heads and hidden and hidden % heads == 0:
        head_dim = hidden // heads
    return Shape(
        model_type=numbers.text(config, "model_type"),
        layers=numbers.number(config, "layers"),
        hidden_size=hidden,
        attention_heads=heads,
        kv_heads=_kv_heads(config, heads),
        head_dim=head_dim,
        intermediate_size=numbers.number(config, "intermediate_size"),
        vocabulary_size=numbers.number(config, "vocabulary_size"),
        positions=numbers.number(config, "max_positions"),
        tied_embeddings=_tied(config),
        experts=numbers.number(config, "experts"),
        moe_intermediate_size=numbers.number(config, "moe_intermediate_size"),
        shared_experts=numbers.number(config, "shared_experts"),
        kv_lora_rank=numbers.number(config, "kv_lora_rank"),
        has_vision=_has_vision(config),
    )


def _architecture(config: Config) -> str | None:
    names = config.get("architectures")
    first = names[0] if isinstance(names, list | tuple) and names else names
    return first if isinstance(first, str) and first else None


def _kv_heads(config: Config, heads: int | None) -> int | None:
    given = numbers.number(config, "kv_heads")
    if numbers.flag(config, "multi_query_attention") and given:
        return given
    if numbers.flag(config, "multi_query") and not numbers.flag(config, "new_decoder_architecture"):
        return 1
    attention = numbers.mapping(config, "attn_config")
    return given or numbers.whole(attention.get("kv_n_heads")) or heads


def _max_positions(config: Config) -> int | None:
    positions = numbers.number(config, "max_positions")
    if positions is None:
        return None
    if numbers.text(config, "model_type") in ROBERTA_MODEL_TYPES and positions > 2:
        return positions - 2
    scaling = numbers.mapping(config, "rope_scaling", "rope_parameters")
    original = numbers.whole(scaling.get("original_max_position_embeddings"))
    factor = scaling.get("factor")
    kind = scaling.get("rope_type", scaling.get("type"))
    if kind == "yarn" and original and isinstance(factor, int | float) and 1 < factor < 1024:
        return max(positions, int(original * factor))
    return positions


def _dtype(config: Config) -> str | None:
    name = numbers.text(config, "dtype", "torch_dtype")
    return name.removeprefix("torch.") if name else None


_TIED_UNLESS_SAID = frozenset(
    {"gemma", "gemma2", "gemma3", "gemma3_text", "gemma4", "gpt2", "gpt_bigcode", "bert",
     "roberta", "distilbert", "cohere", "starcoder2", "falcon", "opt", "mpt"}
)  # fmt: skip


def _tied(config: Config) -> bool | None:
    said = numbers.flag(config, "tie_word_embeddings")
    if said is not None:
        return said
    model_type = numbers.text(config, "model_type")
    return model_type in _TIED_UNLESS_SAID if model_type else None


def _has_vision(config: Config) -> bool:
    blocks = ("vision_config", "visual", "vision_tower", "vit_config", "mm_vision_tower")
    return any(config.get(name) for name in blocks)


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


def _existing_quantization(
    config: Config, hf_quant_config: Config | None
) -> ExistingQuantization | None:
    exported = hf_quant_config.get("quantization") if hf_quant_config else None
    if isinstance(exported, Mapping):
        return ExistingQuantization(
            method="modelopt",
            algorithm=_text_or_none(exported.get("quant_algo")),
            kv_cache=_text_or_none(exported.get("kv_cache_quant_algo")),
        )
    block = numbers.mapping(config, "quantization_config", "compression_config")
    method = _text_or_none(block.get("quant_method"))
    if method is None:
        return None
    algorithm = _text_or_none(block.get("quant_algo")) or _text_or_none(block.get("fmt"))
    return ExistingQuantization(method=method, algorithm=algorithm or _compressed(block))


def _compressed(block: Config) -> str | None:
    """Return `FP8`, `FP4` or None by the bit widths of a compressed-tensors block."""
    groups = block.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping) and weights.get("type") == "float":
            return {8: "FP8", 4: "FP4"}.get(numbers.whole(weights.get("num_bits")) or 0)
    return None


def _temperature(generation_config: Config | None) -> float | None:
    value = generation_config.get("temperature") if generation_config else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
