"""What a config asks of its runtime, and what of that was not seen to run by us."""

from collections.abc import Iterator

from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.capability import Capability, Feature, Support, weights_feature
from controlplane.domain.runtimes.choice import kind_of
from controlplane.domain.runtimes.runtime import capability_of
from controlplane.domain.spec import Spec
from controlplane.domain.spec.trt_llm import TrtLlmV1, TrtLlmV2


def untested_features(spec: Spec, checkpoint: CheckpointFacts | None = None) -> tuple[str, ...]:
    """Return what the config asks that was not seen on such a GPU, by the newest that we ran.

    `spec` names its runtime.
    """
    kind = kind_of(spec)
    untested = (
        feature.value
        for feature in requested_features(spec, checkpoint)
        if cell(spec.runtime_name, feature, kind).support is Support.UNTESTED
    )
    return (*untested, *_without_cell(spec))


def cell(runtime: str, feature: Feature, kind: str) -> Capability:
    return capability_of(RUNTIMES[runtime], feature, kind)


def requested_features(spec: Spec, checkpoint: CheckpointFacts | None = None) -> Iterator[Feature]:
    """Yield what the config asks of its runtime, whatever a request may ask beside it."""
    if spec.accelerator is not None:
        yield Feature.ACCELERATOR
    yield Feature.POOLING if spec.base_model.is_encoder else Feature.CHAT
    if checkpoint is not None and checkpoint.role is Role.MULTIMODAL:
        yield Feature.MULTIMODAL
    yield from _precision(spec, checkpoint)
    yield from _division(spec)
    if spec.speculator is not None:
        yield Feature.LOOKAHEAD
    if spec.engine_build.lora_adapters:
        yield Feature.ADAPTERS
    yield from _engine_settings(spec)


def _precision(spec: Spec, checkpoint: CheckpointFacts | None) -> Iterator[Feature]:
    stored = checkpoint.existing_quantization if checkpoint else None
    weights = weights_feature(spec.quantization_type.precision.weights)
    if stored is not None and (stored.is_fp4 or stored.is_fp8):
        eight_bits = Feature.FP8_BLOCK_WEIGHTS if stored.block else Feature.FP8_WEIGHTS
        weights = Feature.FP4_WEIGHTS if stored.is_fp4 else eight_bits
    if weights is not None:
        yield weights
    if spec.mixes_numbers or (stored is not None and stored.mixes_fp8_and_fp4):
        yield Feature.MIXED_WEIGHTS
    if _quantizes_cache(spec) or (stored is not None and (stored.kv_cache or "").upper() == "FP8"):
        yield Feature.FP8_KV_CACHE


def _quantizes_cache(spec: Spec) -> bool:
    """Return whether keys and values are asked for in FP8, by type or by argument."""
    by_type = spec.quantization_type.precision.quantizes_kv_cache
    if by_type or not isinstance(spec.trt_llm, TrtLlmV2):
        return by_type
    cache = spec.trt_llm.runtime.patch_kwargs.get("kv_cache_config")
    return isinstance(cache, dict) and str(cache.get("dtype")).lower() == "fp8"


def _without_cell(spec: Spec) -> Iterator[str]:
    precision = spec.quantization_type.precision
    if precision.is_built and weights_feature(precision.weights) is None:
        yield f"{precision.weights.label} weights"


def _division(spec: Spec) -> Iterator[Feature]:
    if spec.tensor_parallel > 1:
        yield Feature.TENSOR_PARALLEL
    if spec.pipeline_parallel > 1:
        yield Feature.PIPELINE_PARALLEL


def _engine_settings(spec: Spec) -> Iterator[Feature]:
    engine = spec.trt_llm
    if isinstance(engine, TrtLlmV1) and engine.runtime.kv_cache_host_memory_bytes:
        yield Feature.HOST_KV_CACHE
    if isinstance(engine, TrtLlmV2) and engine.runtime.patch_kwargs:
        yield Feature.ENGINE_ARGUMENTS
