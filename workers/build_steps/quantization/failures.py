"""What loading, quantizing and exporting a checkpoint can fail with."""

from collections.abc import Sequence

from controlplane.domain.failures.registry import build, quantization
from workers.build_steps.crashes import explain_crash
from workers.build_steps.failures import StepFailure

_SHOWN_NAMES = 5


def unknown_type(quantization_type: str, known: Sequence[str]) -> StepFailure:
    return StepFailure.of(quantization.TYPE, wanted=quantization_type, known=", ".join(known))


def odd_width(layers: Sequence[str], block: int, number: str = "FP4") -> StepFailure:
    return StepFailure.of(quantization.BLOCKS, number=number, block=block, layers=_listed(layers))


def unknown_module(pattern: str, meant: str | None) -> StepFailure:
    suggestion = f" (did you mean `{meant}`?)" if meant else ""
    return StepFailure.of(quantization.EXCLUDED, pattern=pattern, meant=suggestion)


def budget(effective_bits: float, least: float) -> StepFailure:
    return StepFailure.of(quantization.BUDGET, asked=f"{effective_bits:g}", least=f"{least:.2f}")


def odd_groups(layers: Sequence[str], groups: Sequence[int], ranks: int) -> StepFailure:
    """Return the failure for widths that no number of integers with one scale divides."""
    words = " or ".join(str(each) for each in groups)
    cut = f", cut for {ranks} GPUs," if ranks > 1 else ""
    return StepFailure.of(quantization.GROUPS, groups=words, layers=_listed(layers), cut=cut)


def unknown_architecture(architecture: str | None, transformers_version: str) -> StepFailure:
    named = f"architecture is `{architecture}`" if architecture else "config names no architecture"
    return StepFailure.of(quantization.ARCHITECTURE, named=named, version=transformers_version)


def wrong_shape(name: str, stored: tuple[int, ...], expected: tuple[int, ...]) -> StepFailure:
    return StepFailure.of(build.SHAPE, name=name, stored=list(stored), wanted=list(expected))


def no_host_memory(needed: int, free: int, what: str) -> StepFailure:
    return StepFailure.of(
        quantization.MEMORY,
        what=what,
        needed_bytes=needed,
        needed=_gigabytes(needed),
        free_bytes=free,
        free=_gigabytes(free),
    )


def no_device_memory(detail: str, devices: int) -> StepFailure:
    known = explain_crash("The step", 1, detail)
    if known.code == "EHB-CARD-SHARED":
        return StepFailure(known)
    return StepFailure.of(quantization.GPU_MEMORY, devices=devices, detail=detail)


def no_room_for_weights(needed: int, on_devices: int, devices: int, on_host: int) -> StepFailure:
    return StepFailure.of(
        quantization.WEIGHTS_ROOM,
        needed=_gigabytes(needed),
        devices=devices,
        on_devices=_gigabytes(on_devices),
        on_host=_gigabytes(on_host),
    )


def not_finite(layers: Sequence[str]) -> StepFailure:
    return StepFailure.of(quantization.NOT_FINITE, layers=_listed(layers))


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN_NAMES])
    return f"{shown} and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else shown
