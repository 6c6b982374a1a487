from collections.abc import Mapping, Sequence

from controlplane.domain.failures.registry import build
from workers.build_steps.failures import StepFailure

_SHOWN = 20


def missing(architecture: str, names: Sequence[str]) -> StepFailure:
    return StepFailure.of(
        build.TENSOR_MISSING,
        architecture=architecture,
        tensors=_first(names),
        detail=_listed(names),
    )


def beyond(architecture: str, names: Sequence[str]) -> StepFailure:
    return StepFailure.of(
        build.TENSOR_BEYOND,
        architecture=architecture,
        tensors=_first(names),
        detail=_listed(names),
    )


def wrong_shape(
    architecture: str, wrong: Sequence[tuple[str, Sequence[int], Sequence[int]]]
) -> StepFailure:
    name, stored, expected = wrong[0]
    return StepFailure.of(
        build.SHAPE,
        name=name,
        stored=list(stored),
        wanted=f"{list(expected)} in `{architecture}`",
        detail=_listed([f"{each}: {list(a)}, should be {list(b)}" for each, a, b in wrong]),
    )


def not_finite(counts: Mapping[str, int]) -> StepFailure:
    (name, count), *others = counts.items()
    more = f". {len(others)} more tensors have some" if others else ""
    return StepFailure.of(
        build.NOT_FINITE,
        held=f"{held(name, count)}{more}",
        detail=_listed([f"{each}: {number:,}" for each, number in counts.items()]),
    )


def held(name: str, count: int) -> str:
    """Return what a tensor holds that it must not, as a sentence goes on."""
    values = "1 value that is" if count == 1 else f"{count:,} values that are"
    return f"`{name}` holds {values} infinite or not a number"


def _first(names: Sequence[str]) -> str:
    return f"`{names[0]}`" + (f", and {len(names) - 1} more" if len(names) > 1 else "")


def _listed(lines: Sequence[str]) -> str:
    left = [f"… and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join([*lines[:_SHOWN], *left])
