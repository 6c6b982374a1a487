"""What loading, quantizing and exporting a checkpoint can fail with."""

from collections.abc import Sequence

from controlplane.domain.failures.registry import build, quantization
from workers.build_steps.crashes import explain_crash
from workers.build_steps.failures import StepFailure, step_failure

_SHOWN_NAMES = 5


def already_quantized(method: str, wanted: str) -> StepFailure:
    return step_failure(quantization.ALREADY_QUANTIZED, method=method, wanted=wanted)


def unknown_type(wanted: str, known: Sequence[str]) -> StepFailure:
    return step_failure(quantization.TYPE, wanted=wanted, known=", ".join(known))


def nothing_quantized(wanted: str, architecture: str) -> StepFailure:
    return step_failure(quantization.NOTHING, wanted=wanted, architecture=architecture)


def odd_width(layers: Sequence[str], block: int, number: str = "FP4") -> StepFailure:
    return step_failure(quantization.BLOCKS, number=number, block=block, layers=_listed(layers))


def unknown_module(pattern: str, meant: str | None) -> StepFailure:
    asked = f" (did you mean `{meant}`?)" if meant else ""
    return step_failure(quantization.EXCLUDED, pattern=pattern, meant=asked)


def one_expert(pattern: str, whole: str) -> StepFailure:
    """Return the failure for one expert to exclude, whose layer keeps all in one precision."""
    return step_failure(quantization.ONE_EXPERT, pattern=pattern, whole=whole)


def not_searched(architecture: str) -> StepFailure:
    return step_failure(quantization.NOT_SEARCHED, architecture=architecture)


def budget(effective_bits: float, least: float) -> StepFailure:
    return step_failure(quantization.BUDGET, asked=f"{effective_bits:g}", least=f"{least:.2f}")


def odd_groups(layers: Sequence[str], groups: Sequence[int], ranks: int) -> StepFailure:
    """Return the failure for widths that no number of integers with one scale divides."""
    words = " or ".join(str(each) for each in groups)
    cut = f", cut for {ranks} GPUs," if ranks > 1 else ""
    return step_failure(quantization.GROUPS, groups=words, layers=_listed(layers), cut=cut)


def unknown_architecture(architecture: str | None, transformers_version: str) -> StepFailure:
    named = f"architecture is `{architecture}`" if architecture else "config names no architecture"
    return step_failure(quantization.ARCHITECTURE, named=named, version=transformers_version)


def two_halves(architecture: str) -> StepFailure:
    return step_failure(quantization.TWO_HALVES, architecture=architecture)


def transposed_layers(architecture: str) -> StepFailure:
    return step_failure(quantization.TRANSPOSED, architecture=architecture)


def not_loaded(architecture: str, reason: str) -> StepFailure:
    return step_failure(quantization.LOAD, architecture=architecture, reason=reason)


def wrong_shape(name: str, stored: tuple[int, ...], wanted: tuple[int, ...]) -> StepFailure:
    return step_failure(build.SHAPE, name=name, stored=list(stored), wanted=list(wanted))


def no_tokenizer(reason: str) -> StepFailure:
    return step_failure(quantization.TOKENIZER, detail=reason)


def no_host_memory(needed: int, free: int, what: str) -> StepFailure:
    return step_failure(
        quantization.MEMORY,
        what=what,
        needed_bytes=needed,
        needed=_gigabytes(needed),
        free_bytes=free,
        free=_gigabytes(free),
    )


def no_device_memory(detail: str, devices: int) -> StepFailure:
    """Return the failure for GPUs that cannot hold the model and one batch, or may not."""
    known = explain_crash("The step", 1, detail)
    if known.code == "EHB-CARD-SHARED":
        return StepFailure(known)
    return step_failure(quantization.GPU_MEMORY, devices=devices, detail=detail)


def no_room_for_weights(needed: int, on_devices: int, devices: int, on_host: int) -> StepFailure:
    """Return the failure for weights that neither the GPUs nor the host beside them hold."""
    return step_failure(
        quantization.WEIGHTS_ROOM,
        needed=_gigabytes(needed),
        devices=devices,
        on_devices=_gigabytes(on_devices),
        on_host=_gigabytes(on_host),
    )


def no_device() -> StepFailure:
    return step_failure(quantization.NO_GPU)


def not_finite(layers: Sequence[str]) -> StepFailure:
    return step_failure(quantization.NOT_FINITE, layers=_listed(layers))


def stacked_integers(name: str) -> StepFailure:
    """Return the failure for experts of which a layer's are one tensor."""
    return step_failure(quantization.STACKED_INTEGERS, name=name)


def stacked_blocks(name: str) -> StepFailure:
    return step_failure(quantization.STACKED_BLOCKS, name=name)


def not_exported(reason: str) -> StepFailure:
    return step_failure(quantization.EXPORT, reason=reason)


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN_NAMES])
    return f"{shown} and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else shown
