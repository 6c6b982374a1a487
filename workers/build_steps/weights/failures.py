"""What a checkpoint's weights can be refused for."""

from collections.abc import Mapping, Sequence

from workers.build_steps.failures import StepFailure, of_checkpoint

_SHOWN = 20


def config_unfit(architecture: str, reason: str) -> StepFailure:
    """Return the failure for a config.json of which its own class cannot be made."""
    return of_checkpoint(
        "EHB-CONFIG-UNFIT",
        f"`{architecture}` cannot be made of this config.json: {reason}",
        hint="Repair config.json, or name a revision in which it and the weights belong together.",
    )


def missing(architecture: str, names: Sequence[str]) -> StepFailure:
    """Return the failure for tensors that the class wants and no file holds."""
    more = f", and {len(names) - 1} more" if len(names) > 1 else ""
    return of_checkpoint(
        "EHB-TENSOR-MISSING",
        f"The checkpoint has no tensor `{names[0]}`{more}, which `{architecture}` needs with this "
        "config.json; an engine would invent it.",
        hint="Save or upload the weights again, or name a revision in which config.json and "
        "weights belong together.",
        detail=_listed(names),
    )


def beyond(architecture: str, names: Sequence[str]) -> StepFailure:
    """Return the failure for tensors of layers that config.json does not make."""
    more = f", and {len(names) - 1} more" if len(names) > 1 else ""
    return of_checkpoint(
        "EHB-TENSOR-BEYOND",
        f"The checkpoint has `{names[0]}`{more}, and `{architecture}` with this config.json ends "
        "before: another model would answer.",
        hint="Repair the numbers of layers and experts in config.json, or name a revision in which "
        "it and the weights belong together.",
        detail=_listed(names),
    )


def wrong_shape(
    architecture: str, wrong: Sequence[tuple[str, Sequence[int], Sequence[int]]]
) -> StepFailure:
    """Return the failure for tensors that config.json does not describe."""
    name, stored, wanted = wrong[0]
    return of_checkpoint(
        "EHP-SHAPE",
        "The weights do not have the shapes that config.json gives: "
        f"`{name}` is {list(stored)} and should be {list(wanted)} in `{architecture}`.",
        hint="Use a revision in which config.json and weights belong together.",
        detail=_listed([f"{each}: {list(a)}, should be {list(b)}" for each, a, b in wrong]),
    )


def not_finite(counts: Mapping[str, int]) -> StepFailure:
    """Return the failure for tensors in which something is no number."""
    (name, count), *others = counts.items()
    more = f" {len(others)} more tensors have some." if others else ""
    return of_checkpoint(
        "EHB-NOT-FINITE",
        f"The tensor {held(name, count)}.{more}",
        hint="Training diverged or the file is damaged: save the weights again, or name an "
        "earlier revision.",
        detail=_listed([f"{each}: {found:,}" for each, found in counts.items()]),
    )


def held(name: str, count: int) -> str:
    """Return what a tensor holds that it must not, as a sentence goes on."""
    values = "1 value that is" if count == 1 else f"{count:,} values that are"
    return f"`{name}` holds {values} infinite or not a number"


def _listed(lines: Sequence[str]) -> str:
    left = [f"… and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join([*lines[:_SHOWN], *left])
