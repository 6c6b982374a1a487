"""Names of engines and ModelOpt for precisions that builds do not make, or call otherwise.

Source: ModelOpt 0.47, `quantization.config.choices` and `process_layer_quant_config`; vLLM 0.25 to
0.33, `modelopt.py`; TensorRT-LLM 1.2, `QuantAlgo`; read 2026-11-30.
"""

from collections.abc import Mapping
from types import MappingProxyType

_BLOCKS = (
    "FP8 with a scale per block of 128 x 128 is `fp8_block` here, in the form of DeepSeek's own "
    "checkpoints, which vLLM and TensorRT-LLM load; a checkpoint that comes so is served as it is "
    "with `no_quant`."
)
_CHANNELS = (
    "FP8 with a scale per channel is not built. `fp8` has one scale per tensor; a checkpoint that "
    "comes so is served as it is with `no_quant`."
)
_MICROSCALING = (
    "Microscaling formats are not built. The nearest are `fp8` and `fp4`; a checkpoint that comes "
    "so is served as it is with `no_quant`."
)
_REASONS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "fp8_pb_wo", "fp8_pb", "fp8_pb_real", "fp8_blocks", "fp8_block_scales",
                "fp8_per_block", "fp8_2d_blockwise_weight_only", "fp8_blockwise",
            ),
            _BLOCKS,
        ),
        **dict.fromkeys(
            ("fp8_per_channel", "fp8_per_channel_per_token", "fp8_pc_pt", "ptpc_fp8"), _CHANNELS
        ),
        **dict.fromkeys(("mxfp8", "mxfp4", "mxfp6"), _MICROSCALING),
    }
)  # fmt: skip


def unbuilt_reason(name: str) -> str | None:
    """Return what is to be had instead of a name of others; None for one that means nothing."""
    plain = name.strip().lower().replace("-", "_")
    return _REASONS.get(plain.removesuffix("_cfg"))
