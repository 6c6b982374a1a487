"""Quantization types: what each keeps its numbers in, and the hardware that computes in them.

The table that everything asks: a type is a row of `PRECISIONS`, and nothing reads its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from controlplane.domain.facts.modelopt_declaration import MIXED_PRECISION
from controlplane.domain.facts.sources import Source, quantization_guide

FP8_CAPABILITY = (8, 9)
FP4_CAPABILITY = (10, 0)
BFLOAT16_CAPABILITY = (8, 0)
HOPPER_CAPABILITY = (9, 0)
AWQ_EFFORT = 5.2
"""An estimate, until builds have run: the work of each of its two passes, the second of which tries
eleven strengths of scaling per layer, as times a pass of FP8."""


@dataclass(frozen=True, kw_only=True)
class Number:
    """A format that weights, or keys and values, are kept in."""

    label: str
    """As pages and tables of capabilities name it."""
    bytes: float
    """Of one number with its share of the scales."""
    minimum_capability: tuple[int, int] = BFLOAT16_CAPABILITY
    """Compute capability from which on GPUs compute in it."""
    modelopt_name: str | None = None
    """`quant_algo` of ModelOpt's exports; None where it is not built."""
    modelopt_config: str = ""
    """ModelOpt's config for all linear layers."""
    modelopt_mlp_config: str = ""
    """The same for feed-forward layers; empty where it has none and lends another's layers."""
    modelopt_quantizer: Mapping[str, Any] | None = None
    """What a quantizer is told, where the layers are lent."""
    lossy_below_parameters: int = 0
    """Models of fewer parameters lose with it without training."""
    loss: str = ""
    """What they lose, in words."""
    is_computed_here: bool = True
    """Whether a GPU that computes in it has run what was made here."""
    groups: tuple[int, ...] = ()
    """Numbers of a row that share a scale, largest first: the first that divides every layer's
    width is taken. Empty where a number has one form only."""
    block: int = 0
    """Rows and columns of a weight that share a scale, whose inputs get one for as many numbers of
    a token while serving; 0 where scales are for other parts."""
    arithmetic: float | None = None
    """Bytes of the numbers that are multiplied, where these are not the stored ones."""
    modelopt_passes: int = 1
    """How often calibration runs the samples; not at all where no scale comes from them."""
    calibration_effort: float = 1.0
    """Work of calibration per pass over the samples without a search for scales."""

    @property
    def arithmetic_bytes(self) -> float:
        """Bytes of one number as a GPU multiplies it."""
        return self.bytes if self.arithmetic is None else self.arithmetic

    @property
    def is_packed(self) -> bool:
        """Whether artifacts are in compressed-tensors' packed integers instead of ModelOpt's."""
        return bool(self.groups)

    @property
    def is_rewritten(self) -> bool:
        """Whether artifacts are in another form than ModelOpt's, which not every runtime loads."""
        return self.is_packed or bool(self.block)


NVFP4_BYTES = 0.5625
"""4 bits and one FP8 scale per 16 numbers."""
SIXTEEN_BITS = Number(label="16-bit", bytes=2.0)
FP8 = Number(
    label="FP8",
    bytes=1.0,
    minimum_capability=FP8_CAPABILITY,
    modelopt_name="FP8",
    modelopt_config="FP8_DEFAULT_CFG",
    modelopt_quantizer=MappingProxyType({"num_bits": (4, 3), "axis": None}),
)
FP8_BLOCK = 128
FP8_BLOCKS = Number(
    label="FP8 in blocks",
    bytes=1.0 + 4 / FP8_BLOCK**2,
    minimum_capability=FP8_CAPABILITY,
    modelopt_name="FP8_BLOCK_SCALES",
    modelopt_config="FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG",
    block=FP8_BLOCK,
    arithmetic=1.0,
    modelopt_passes=0,
)
"""As DeepSeek's own checkpoints have it: a scale in float32 for each block."""
NVFP4 = Number(
    label="FP4",
    bytes=NVFP4_BYTES,
    minimum_capability=FP4_CAPABILITY,
    modelopt_name="NVFP4",
    modelopt_config="NVFP4_DEFAULT_CFG",
    modelopt_mlp_config="NVFP4_MLP_ONLY_CFG",
    # Published for two 8B models.
    lossy_below_parameters=15_000_000_000,
    loss="FP4 costs models of this size 3 to 5 points; measure it in the gate",
    is_computed_here=False,
)
INT8 = Number(label="INT8", bytes=1.0)
WITHDRAWN_INT4 = Number(label="INT4 of engine builds", bytes=0.5)
INT4_GROUPS = (128, 64, 32)
INT4_AWQ_BYTES = 0.515625
"""4 bits and one 16-bit scale per 128 numbers."""
INT4_AWQ = Number(
    label="INT4",
    bytes=INT4_AWQ_BYTES,
    modelopt_name="W4A16_AWQ",
    modelopt_config="INT4_AWQ_CFG",
    arithmetic=2.0,
    groups=INT4_GROUPS,
    modelopt_passes=2,
    calibration_effort=AWQ_EFFORT,
)
INT4_AWQ_FP8 = Number(
    label="INT4 with FP8 inputs",
    bytes=INT4_AWQ_BYTES,
    minimum_capability=HOPPER_CAPABILITY,
    modelopt_name="W4A8_AWQ",
    modelopt_config="INT4_AWQ_CFG",
    arithmetic=1.0,
    groups=INT4_GROUPS[:1],
    modelopt_passes=2,
    calibration_effort=AWQ_EFFORT,
)
_GUIDE = quantization_guide("GPU support")
NO_QUANT = "no_quant"
"""The type that leaves a checkpoint as it is."""


@dataclass(frozen=True, kw_only=True)
class Precision:
    """A quantization type; embeddings and head stay 16-bit throughout."""

    name: str
    weights: Number
    kv_cache: Number = SIXTEEN_BITS
    mlp_only: bool = False
    is_withdrawn: bool = False
    smaller: tuple[str, ...] = ()
    """The next types with fewer bytes, nearest first."""
    with_plain_kv: str = NO_QUANT
    """The type with these weights and a 16-bit KV cache."""
    on_older_gpus: str = NO_QUANT
    """The nearest type for GPUs that do not compute in these weights."""
    promised_saving: tuple[float, ...] = ()
    """Share of the memory by the pages' tables, which differ on one of them."""
    trial_rank: int | None = None
    """Its place among the types that are tried for a model; None where it is asked for alone."""
    is_proposed: bool = False
    """Whether nothing warns of it by itself, so that it may stand in a proposed config."""
    source: Source = _GUIDE

    @property
    def is_quantized(self) -> bool:
        return self.name != NO_QUANT

    @property
    def is_built(self) -> bool:
        """Whether builds make it: neither withdrawn nor the checkpoint as it is."""
        return self.is_quantized and not self.is_withdrawn

    @property
    def weight_bytes(self) -> float:
        return self.weights.bytes

    @property
    def kv_bytes(self) -> int:
        """Bytes of one cached number."""
        return int(self.kv_cache.bytes)

    @property
    def quantizes_kv_cache(self) -> bool:
        return self.kv_cache is not SIXTEEN_BITS

    @property
    def minimum_capability(self) -> tuple[int, int]:
        return self.weights.minimum_capability


PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        each.name: each
        for each in (
            Precision(
                name=NO_QUANT,
                weights=SIXTEEN_BITS,
                smaller=("fp8",),
                trial_rank=0,
                is_proposed=True,
            ),
            Precision(
                name="fp8",
                weights=FP8,
                smaller=("fp8_kv", "fp4"),
                promised_saving=(0.5,),
                trial_rank=1,
                is_proposed=True,
            ),
            Precision(
                name="fp8_kv",
                weights=FP8,
                kv_cache=FP8,
                smaller=("fp4_kv",),
                with_plain_kv="fp8",
                promised_saving=(0.6,),
                trial_rank=2,
                is_proposed=True,
            ),
            Precision(name="fp8_mlp_only", weights=FP8, mlp_only=True, smaller=("fp8",)),
            Precision(name="fp8_block", weights=FP8_BLOCKS, smaller=("fp4",)),
            Precision(
                name="fp4",
                weights=NVFP4,
                smaller=("fp4_kv",),
                on_older_gpus="fp8",
                promised_saving=(0.75,),
                trial_rank=4,
            ),
            Precision(
                name="fp4_kv",
                weights=NVFP4,
                kv_cache=FP8,
                with_plain_kv="fp4",
                on_older_gpus="fp8_kv",
                promised_saving=(0.75, 0.8),
                trial_rank=5,
            ),
            Precision(
                name="fp4_mlp_only",
                weights=NVFP4,
                mlp_only=True,
                smaller=("fp4",),
                on_older_gpus="fp8_mlp_only",
                promised_saving=(0.75,),
                trial_rank=3,
                is_proposed=True,
            ),
            Precision(name="int4_awq", weights=INT4_AWQ, trial_rank=6),
            Precision(name="w4a8_awq", weights=INT4_AWQ_FP8, on_older_gpus="int4_awq"),
            Precision(name="weights_int8", weights=INT8, is_withdrawn=True),
            Precision(name="weights_kv_int8", weights=INT8, kv_cache=INT8, is_withdrawn=True),
            Precision(name="weights_int4", weights=WITHDRAWN_INT4, is_withdrawn=True),
            Precision(
                name="weights_int4_kv_int8",
                weights=WITHDRAWN_INT4,
                kv_cache=INT8,
                is_withdrawn=True,
            ),
            Precision(name="smooth_quant", weights=INT8, is_withdrawn=True),
        )
    }
)
"""By the names of `trt_llm.build.quantization_type`."""
TRIED: tuple[str, ...] = tuple(
    sorted(
        (name for name, each in PRECISIONS.items() if each.trial_rank is not None),
        key=lambda name: PRECISIONS[name].trial_rank or 0,
    )
)
"""Types that are tried for a model, in the order of a table's columns."""
PROPOSED = tuple(name for name in TRIED if PRECISIONS[name].is_proposed)
"""Types that nothing warns of by themselves."""


def quantizes(name: str | None) -> bool:
    return bool(name) and name != NO_QUANT


def exported_number(modelopt_name: str | None) -> Number | None:
    built = (each.weights for each in PRECISIONS.values() if each.is_built)
    return next((number for number in built if number.modelopt_name == modelopt_name), None)


def smallest_exported(modelopt_name: str | None) -> Number | None:
    """Return the smallest number in an export: that of FP4 where numbers are mixed."""
    return NVFP4 if modelopt_name == MIXED_PRECISION else exported_number(modelopt_name)


def cached_bytes(words: str) -> float | None:
    """Return the bytes of a cached number by an engine's or a file's words; None for 16 bits."""
    if "fp4" in words:
        return NVFP4_BYTES
    return 1 if "fp8" in words or "int8" in words else None
