"""Parameters and state of the layers that keep a state of fixed size instead of a KV cache.

Sources: modelling code of transformers 5.24 (gated delta net, Mamba 1 and 2, short convolution),
read 2026-11-28. A recurrent state is kept in float32 by every engine read; convolutions in 16 bits.
"""

from dataclasses import dataclass

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.layers import LayerGroup, Mixer
from controlplane.domain.facts.shape import Shape

_STATE_BYTES, _CONVOLUTION_BYTES = 4, 2
_MLPS_BESIDE = frozenset({"jamba", "zamba"})
"""Families whose `intermediate_size` is that of an MLP, and not of Mamba itself."""


@dataclass(frozen=True, kw_only=True)
class Sized:
    """One layer's mixer: its parameters, and what it keeps of a request."""

    parameters: int
    keeps: LayerGroup


def state_layer(shape: Shape, mixer: Mixer, hidden: int) -> Sized | None:
    """Return the sizes of a layer without a KV cache, or None where the shape does not say."""
    match mixer:
        case Mixer.LINEAR:
            return (
                _delta_attention(shape, hidden)
                or _gated_delta_net(shape, hidden)
                or _mamba2(shape, hidden)
                or (_mamba1(shape, hidden) if shape.extra("mamba_d_state") else None)
                or _lightning(shape, hidden)
            )
        case Mixer.MAMBA:
            return _mamba2(shape, hidden) or _mamba1(shape, hidden)
        case Mixer.CONVOLUTION:
            kernel = shape.extra("conv_L_cache", 3)
            parameters = 4 * hidden * hidden + hidden * kernel
            return _sized(mixer, parameters, state=0, convolution=hidden * (kernel - 1))
    if shape.model_type == "xlstm":
        return _matrix_memory(shape, hidden)
    if shape.model_type == "recurrent_gemma":
        return _gated_recurrence(shape, hidden)
    heads_state = hidden * (shape.extra("head_size") or shape.extra("head_dim", 64))
    return _sized(Mixer.RECURRENT, 5 * hidden * hidden, state=heads_state, convolution=2 * hidden)


def _matrix_memory(shape: Shape, hidden: int) -> Sized | None:
    """xLSTM: in each head a matrix of keys by values, a vector of keys and one number."""
    heads = shape.attention_heads
    if not heads:
        return None
    keys = int(hidden * (numbers.real(numbers.raw(shape.config, "qk_dim_factor")) or 0.5))
    values = int(hidden * (numbers.real(numbers.raw(shape.config, "v_dim_factor")) or 1.0))
    state = keys * values // heads + keys + heads
    parameters = hidden * (2 * keys + 2 * values) + values * hidden
    return _sized(Mixer.RECURRENT, parameters, state=state, convolution=0)


def _gated_recurrence(shape: Shape, hidden: int) -> Sized:
    """RecurrentGemma: one number for each of its width, and a short convolution."""
    kernel = shape.extra("conv1d_width", 4)
    return _sized(
        Mixer.RECURRENT, 5 * hidden * hidden, state=shape.extra("lru_width") or hidden,
        convolution=hidden * (kernel - 1),
    )  # fmt: skip


def _gated_delta_net(shape: Shape, hidden: int) -> Sized | None:
    keys, key_dim = shape.extra("linear_num_key_heads"), shape.extra("linear_key_head_dim")
    values, value_dim = shape.extra("linear_num_value_heads"), shape.extra("linear_value_head_dim")
    if not (keys and values and key_dim and value_dim):
        return None
    kernel = shape.extra("linear_conv_kernel_dim", 4)
    mixed, out = 2 * keys * key_dim + values * value_dim, values * value_dim
    parameters = hidden * (mixed + out + 2 * values) + mixed * kernel + out * hidden
    return _sized(
        Mixer.LINEAR, parameters, state=values * key_dim * value_dim,
        convolution=mixed * (kernel - 1),
    )  # fmt: skip


def _delta_attention(shape: Shape, hidden: int) -> Sized | None:
    """Kimi's delta attention; its parameters are not checked against a public count."""
    block = numbers.mapping(shape.config, "linear_attn_config")
    heads = numbers.whole(block.get("num_heads")) or shape.extra("linear_num_heads")
    width = numbers.whole(block.get("head_dim")) or shape.extra("linear_head_dim")
    if not heads or not width:
        return None
    kernel = numbers.whole(block.get("short_conv_kernel_size")) or shape.extra(
        "linear_conv_kernel_dim", 4
    )
    inner = heads * width
    gates = 2 * (hidden * width + width * inner) + hidden * heads
    return _sized(
        Mixer.LINEAR, 4 * hidden * inner + 3 * inner * kernel + gates,
        state=heads * width * width, convolution=3 * inner * (kernel - 1),
    )  # fmt: skip


def _lightning(shape: Shape, hidden: int) -> Sized | None:
    """MiniMax's linear attention: an outer product of key and value in each head."""
    heads, width = shape.attention_heads, shape.head_dim
    if not heads or not width:
        return None
    inner = heads * width
    return _sized(Mixer.LINEAR, 5 * hidden * inner, state=inner * width, convolution=0)


def _mamba2(shape: Shape, hidden: int) -> Sized | None:
    heads = numbers.first_number(shape.config, "mamba_num_heads", "mamba_n_heads")
    width = numbers.first_number(shape.config, "mamba_head_dim", "mamba_d_head")
    if shape.model_type == "mamba2":
        heads, width = shape.attention_heads, shape.head_dim
    if shape.model_type == "zamba2":
        heads, width = numbers.first_number(shape.config, "n_mamba_heads") or 8, None
    if not heads:
        return None
    width = width or shape.extra("mamba_expand", 2) * hidden // heads
    states = numbers.first_number(shape.config, "ssm_state_size", "mamba_d_state", "state_size")
    groups = numbers.first_number(shape.config, "n_groups", "mamba_n_groups", "mamba_ngroups") or 1
    kernel = numbers.first_number(shape.config, "conv_kernel", "mamba_d_conv") or 4
    inner, states = heads * width, states or 128
    mixed = inner + 2 * groups * states
    parameters = hidden * (inner + mixed + heads) + mixed * (kernel + 1) + inner * (hidden + 1)
    return _sized(Mixer.MAMBA, parameters, state=inner * states, convolution=mixed * (kernel - 1))


def _mamba1(shape: Shape, hidden: int) -> Sized | None:
    config = shape.config
    expand = numbers.first_number(config, "mamba_expand", "expand") or 2
    states = numbers.first_number(config, "mamba_d_state", "state_size") or 16
    kernel = numbers.first_number(config, "mamba_d_conv", "conv_kernel") or 4
    rank = numbers.first_number(config, "mamba_dt_rank", "time_step_rank") or -(-hidden // 16)
    is_own = shape.model_type not in _MLPS_BESIDE
    inner = (is_own and numbers.number(config, "intermediate_size")) or expand * hidden
    parameters = (
        3 * hidden * inner + inner * (kernel + 1) + inner * (rank + 2 * states)
        + rank * inner + inner * (states + 2)
    )  # fmt: skip
    return _sized(Mixer.MAMBA, parameters, state=inner * states, convolution=inner * (kernel - 1))


def _sized(mixer: Mixer, parameters: int, *, state: int, convolution: int) -> Sized:
    kept = state * _STATE_BYTES + convolution * _CONVOLUTION_BYTES
    return Sized(parameters=parameters, keeps=LayerGroup(mixer=mixer, state_bytes=kept))
