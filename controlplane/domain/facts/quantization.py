"""Quantization types: bytes per number and the hardware that computes in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controlplane.domain.facts.sources import Source, quantization_guide

FP8_CAPABILITY = (8, 9)
FP4_CAPABILITY = (10, 0)
BFLOAT16_CAPABILITY = (8, 0)
SMALL_MODEL_PARAMETERS = 8_000_000_000
"""Below this the guide sees minimal benefit from quantization."""
QWEN2_CALIBRATION_SAMPLES = 1024
KV_SENSITIVE_MODEL_TYPES = frozenset({"qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl"})
"""Families that keep a bias on Q, K and V, which a symmetric FP8 KV cache does not survive."""


@dataclass(frozen=True, kw_only=True)
class Precision:
    """Bytes per number of a quantization type; embeddings and head stay 16-bit throughout."""

    weight_bytes: float
    mlp_only: bool
    kv_bytes: int
    minimum_capability: tuple[int, int]
    source: Source


_GUIDE = quantization_guide("GPU support")
NVFP4_BYTES = 0.5625
"""4 bits and one FP8 scale per 16 numbers."""

PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        name: Precision(
            weight_bytes=weight_bytes,
            mlp_only=mlp_only,
            kv_bytes=kv_bytes,
            minimum_capability=capability,
            source=_GUIDE,
        )
        for name, weight_bytes, mlp_only, kv_bytes, capability in (
            ("no_quant", 2.0, False, 2, BFLOAT16_CAPABILITY),
            ("fp8", 1.0, False, 2, FP8_CAPABILITY),
            ("fp8_kv", 1.0, False, 1, FP8_CAPABILITY),
            ("fp8_mlp_only", 1.0, True, 2, FP8_CAPABILITY),
            ("fp4", NVFP4_BYTES, False, 2, FP4_CAPABILITY),
            ("fp4_kv", NVFP4_BYTES, False, 1, FP4_CAPABILITY),
            ("fp4_mlp_only", NVFP4_BYTES, True, 2, FP4_CAPABILITY),
            ("weights_int8", 1.0, False, 2, BFLOAT16_CAPABILITY),
            ("weights_kv_int8", 1.0, False, 1, BFLOAT16_CAPABILITY),
            ("weights_int4", 0.5, False, 2, BFLOAT16_CAPABILITY),
            ("weights_int4_kv_int8", 0.5, False, 1, BFLOAT16_CAPABILITY),
            ("smooth_quant", 1.0, False, 2, BFLOAT16_CAPABILITY),
        )
    }
)
ESSENTIAL_PARAMETERS = 15_000_000_000
"""Above this the guide calls quantization essential."""
PROMISED_SAVING: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "fp8": (0.5,),
        "fp8_kv": (0.6,),
        "fp4": (0.75,),
        "fp4_kv": (0.75, 0.8),
        "fp4_mlp_only": (0.75,),
    }
)
"""Memory saved by the pages' tables, which differ on one of them."""
