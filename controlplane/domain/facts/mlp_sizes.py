from dataclasses import dataclass

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.families import HALVED_MLP, TWO_MATRIX_MLP
from controlplane.domain.facts.shape import Shape

_BESIDE_EXPERTS = "enable_moe_block"


@dataclass(frozen=True, kw_only=True)
class Mlp:
    """One layer's feed-forward parameters."""

    dense: int = 0
    """Of the one MLP, or of the experts that every token passes."""
    experts: int = 0
    router: int = 0
    active_experts: int = 0
    """Of the routed experts, what one token passes."""

    @property
    def total(self) -> int:
        return self.dense + self.experts + self.router


def mlp_of_layer(shape: Shape, layer: int, *, sparse: bool) -> Mlp | None:
    hidden = shape.hidden_size or 0
    block = _block_kind(shape, layer)
    if block == "none":
        return Mlp()
    if sparse and block != "dense":
        return _experts(shape, hidden)
    width = _dense_width(shape, hidden)
    return None if width is None else Mlp(dense=_matrices(shape) * hidden * width)


def _matrices(shape: Shape) -> int:
    return 2 if shape.model_type in TWO_MATRIX_MLP else 3


def _dense_width(shape: Shape, hidden: int) -> int | None:
    width = shape.intermediate_size
    if shape.experts and shape.dense_width:
        width = shape.dense_width
    if shape.model_type == "lfm2" and width:
        return _lfm2_width(shape, width)
    if shape.model_type in HALVED_MLP:
        return width // 2 if width else None
    return width or (4 * hidden if shape.model_type in TWO_MATRIX_MLP else None)


def _lfm2_width(shape: Shape, width: int) -> int:
    if numbers.flag(shape.config, "block_auto_adjust_ff_dim") is False:
        return width
    unit = numbers.number(shape.config, "block_multiple_of") or 256
    multiplier = numbers.real(numbers.raw(shape.config, "block_ffn_dim_multiplier")) or 1.0
    return -(-int(multiplier * int(2 * width / 3)) // unit) * unit


def _experts(shape: Shape, hidden: int) -> Mlp | None:
    count, matrices = shape.experts or 0, _matrices(shape)
    width = shape.moe_intermediate_size or shape.intermediate_size
    if width is None:
        return None
    inner = numbers.first_number(shape.config, "moe_latent_size", "routed_expert_hidden_size")
    each = matrices * (inner or hidden) * width
    projected = 2 * hidden * inner if inner else 0
    shared = matrices * hidden * _shared_width(shape, width)
    beside = 0
    if numbers.flag(shape.config, _BESIDE_EXPERTS):
        beside = matrices * hidden * (shape.intermediate_size or 0)
    per_token = min(shape.experts_per_token or 1, count)
    return Mlp(
        dense=shared + beside + projected,
        experts=each * count,
        router=hidden * count,
        active_experts=each * per_token,
    )


def _shared_width(shape: Shape, width: int) -> int:
    if shape.shared_width:
        return shape.shared_width * max(1, _shared_copies(shape))
    return shape.shared_experts * width


def _shared_copies(shape: Shape) -> int:
    """Nemotron and MiniMax give the width of one shared expert, Qwen that of all together."""
    return shape.shared_experts


def _block_kind(shape: Shape, layer: int) -> str:
    """Return `none`, `dense`, or an empty word where the pattern of blocks says nothing."""
    letters = numbers.text(shape.config, "hybrid_override_pattern") or ""
    if layer < len(letters):
        return {"-": "dense", "E": ""}.get(letters[layer], "none")
    words = numbers.words(shape.config, "layers_block_type")
    if shape.model_type == "nemotron_h" and layer < len(words):
        return {"moe": "", "mlp": "dense"}.get(words[layer], "none")
    return "none" if shape.model_type in ("mamba", "mamba2", "falcon_mamba") else ""
