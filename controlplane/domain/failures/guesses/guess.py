"""Evidence whose words no pattern knows -> the family of a refusal, or a guess who has to act."""

import re
from collections.abc import Sequence

from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.failure import Blame, Failure
from controlplane.domain.failures.guesses.areas import Area, area_of
from controlplane.domain.failures.guesses.last_exception import LastException, last_exception
from controlplane.domain.failures.guesses.named_settings import (
    NamedSettings,
    in_stack,
    own_arguments_about,
    settings_named,
)
from controlplane.domain.failures.guesses.refusals import family_of, words_of
from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import guesses
from controlplane.domain.redaction import Redactor

_MOST_SETTINGS = 3
_LONGEST_MESSAGE = 300
_SECRETS = Redactor()
_TENSOR = re.compile(
    r"\b(?:[A-Za-z_]\w*\.)+(?:\d+\.)?(?:\w+\.)*(?:weight|bias|\w*scale\w*|qweight|\w*_proj)\b"
)
_KINDS = {
    Blame.CONFIGURATION: guesses.CONFIGURATION,
    Blame.CHECKPOINT: guesses.CHECKPOINT,
    Blame.MACHINE: guesses.MACHINE,
}


def guessed(evidence: CrashEvidence) -> Failure | None:
    """Return what the last exception of the log means by its words, else by where it was raised.

    None where nothing points at all. The words of a refusal belong to a family, which is no guess;
    in a guess a setting that the words name outweighs the place that they come from.
    """
    error = last_exception(evidence.log_tail)
    if error is None:
        return None
    area, family = area_of(error.paths), family_of(error)
    named = settings_named(error.message, evidence.spec)
    if area is None and family is None and not named.all:
        return None
    message = _SECRETS.text(error.sentence)
    return (family or _kind_of(area, named)).failure(
        subject=evidence.subject,
        error=message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…",
        place=_place(area),
        named=_named(named.all, error),
        look_at=_look_at(named.all, area),
        field=_field(named, family, area, evidence),
        detail=message,
    )


def _kind_of(area: Area | None, named: NamedSettings) -> FailureKind:
    return guesses.CONFIGURATION if named.all or area is None else _KINDS[area.blame]


def _field(
    named: NamedSettings, family: FailureKind | None, area: Area | None, evidence: CrashEvidence
) -> str | None:
    """Return the setting to change: what the words name outweighs where they come from."""
    of_place = area.field if area and (family is None or area.is_optional) else None
    of_family = family.field if family else None
    words = words_of(family) if family else None
    own = own_arguments_about(words, evidence.spec) if words else ()
    names = (*named.arguments, *own, of_family, *named.values, of_place)
    field = next((each for each in names if each), None)
    return field and in_stack(field, evidence.spec)


def _place(area: Area | None) -> str:
    return f"it comes from the part that {area.about}" if area else "it names a setting"


def _named(named: Sequence[str], error: LastException) -> str:
    """Return a sentence of the settings and tensors that the words name, or nothing."""
    tensors = dict.fromkeys(_TENSOR.findall(error.message))
    names = [*named[:_MOST_SETTINGS], *list(tensors)[:1]]
    return f" Its words name {_listed(names)}." if names else ""


def _look_at(named: Sequence[str], area: Area | None) -> str:
    names = named[:_MOST_SETTINGS] or ([area.field] if area and area.field else [])
    return _listed(names) if names else "the settings that the message names"


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{_SECRETS.text(name)}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
