"""Which GPU, model and runtime a quantization type is refused on, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.domain.facts.checkpoint_facts import CheckpointFacts
from controlplane.domain.facts.existing_quantization import ExistingQuantization
from controlplane.domain.facts.gpus import Gpu
from controlplane.domain.facts.quantization import FP8, NVFP4, PRECISIONS, Number
from controlplane.domain.facts.quantization_of_models import KV_SENSITIVE_MODEL_TYPES

_MXFP4_CAPABILITY = (8, 0)


@dataclass(frozen=True, kw_only=True)
class PrecisionSupport:
    """What a runtime makes of numbers that a GPU or a family of models is not made for."""

    expanded_from: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Label of a number -> compute capability from which on its weights are computed in 16 bits."""
    stored_from: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Method of a checkpoint in FP8 -> the same, where it is not as for our own builds."""
    unquantized: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Label of a number -> types of models whose weights it does not take in it."""
    multiplied_on: Mapping[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    """Stored weights and activations -> major compute capabilities that have a kernel of both."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Label of a number -> why the runtime loads no weights in it."""


def precision_refusal(
    name: str, gpu: Gpu, checkpoint: CheckpointFacts, support: PrecisionSupport
) -> str | None:
    precision = PRECISIONS[name]
    if precision.weights.label in support.unread:
        return f"`{name}`: {support.unread[precision.weights.label]}"
    if precision.weights.is_packed and checkpoint.experts:
        return f"`{name}` is not built for experts"
    refused = _of_device(precision.weights, gpu, support, name)
    if refused:
        return refused
    if precision.quantizes_kv_cache and not gpu.has_capability(*FP8.minimum_capability):
        # Weights may be computed in 16 bits where the cache still has to be read in 8.
        return _needs(f"the 8-bit KV cache of `{name}`", FP8, gpu)
    model_type = checkpoint.model_type or ""
    if precision.quantizes_kv_cache and model_type in KV_SENSITIVE_MODEL_TYPES:
        return f"`{model_type}` has a bias on keys, which an 8-bit KV cache does not survive"
    if model_type in support.unquantized.get(precision.weights.label, ()):
        return f"`{model_type}` in {precision.weights.label} is not among what this engine takes"
    return None


def stored_refusal(checkpoint: CheckpointFacts, gpu: Gpu, support: PrecisionSupport) -> str | None:
    existing = checkpoint.existing_quantization
    if existing is None:
        return None
    if _is_older_than_mxfp4(existing, gpu):
        return f"MXFP4 needs compute capability 8.0; {gpu.kind} has {gpu.capability_text}"
    if unmultiplied := _unmultiplied(checkpoint, existing, gpu, support):
        return unmultiplied
    if existing.is_fp4:
        return _of_device(NVFP4, gpu, support, existing.algorithm or "FP4")
    if not existing.is_fp8 or is_expanded_as_stored(checkpoint, gpu, support):
        return None
    return _of_device(FP8, gpu, support, existing.algorithm or "FP8")


def _is_older_than_mxfp4(existing: ExistingQuantization, gpu: Gpu) -> bool:
    return existing.method.lower() == "mxfp4" and not gpu.has_capability(*_MXFP4_CAPABILITY)


def _unmultiplied(
    checkpoint: CheckpointFacts, existing: ExistingQuantization, gpu: Gpu, support: PrecisionSupport
) -> str | None:
    """Return why no kernel multiplies such weights with such activations on this GPU, if so.

    Experts have kernels of their own, which are not judged where they alone are quantized.
    """
    weights, activations = (existing.algorithm or "")[:4], (existing.activations or "")[:4]
    majors = support.multiplied_on.get((weights, activations))
    if majors is None or gpu.compute_capability is None:
        return None
    if gpu.compute_capability[0] in majors or (checkpoint.experts and existing.keeps_attention):
        return None
    what = f"{weights} weights with {activations} activations have"
    if not majors:
        return f"{what} no kernel on any GPU"
    *others, last = map(str, majors)
    listed = f"{', '.join(others)} and {last}" if others else last
    return (
        f"{what} a kernel on compute capability {listed} alone; {gpu.kind} has "
        f"{gpu.capability_text}"
    )


def is_expanded_as_stored(checkpoint: CheckpointFacts, gpu: Gpu, support: PrecisionSupport) -> bool:
    """Return whether FP8 weights of another tool are computed in 16 bits on this GPU."""
    existing = checkpoint.existing_quantization
    if existing is None or not existing.is_fp8 or gpu.has_capability(*FP8.minimum_capability):
        return False
    needed = support.stored_from.get(existing.method)
    return needed is not None and gpu.has_capability(*needed)


def is_emulated(name: str, gpu: Gpu) -> bool:
    """Return whether this GPU computes such weights in 16 bits: memory saved, no arithmetic."""
    return not gpu.has_capability(*PRECISIONS[name].minimum_capability)


def _of_device(number: Number, gpu: Gpu, support: PrecisionSupport, name: str) -> str | None:
    if gpu.has_capability(*number.minimum_capability):
        return None
    expanded = support.expanded_from.get(number.label)
    if expanded is not None and gpu.has_capability(*expanded):
        return None
    return _needs(f"`{name}`", number, gpu)


def _needs(what: str, number: Number, gpu: Gpu) -> str:
    capability = ".".join(map(str, number.minimum_capability))
    return f"{what} needs compute capability {capability}; {gpu.kind} has {gpu.capability_text}"
