"""What the fix of a failed build would change, and what it did change in the build after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.builds.models import Build
from apps.builds.values import value_words
from apps.configs.models import Revision
from apps.configs.selectors import revision_last
from controlplane.domain.dotted import value_at
from controlplane.domain.spec import parse_text
from controlplane.domain.spec.edit import UneditableTextError, edit_yaml
from controlplane.domain.text_difference import DifferenceLine, text_difference

_MOST_SENTENCES = 3
_LONGEST_VALUE = 40


@dataclass(frozen=True, kw_only=True)
class Change:
    """One setting before and after; None where it is left out."""

    field: str
    old: Any
    new: Any


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A fix, applied to the newest text of the config that failed."""

    patch: Mapping[str, Any]
    failed_revision: int
    base: Revision
    """The newest revision, which may be a later one than the build's."""
    text: str
    changes: Sequence[Change]
    difference: Sequence[DifferenceLine]
    problem: str | None = None
    """Why the changed text cannot be saved."""

    @property
    def moved_on(self) -> bool:
        """Whether the config was saved again since the build was made."""
        return self.base.number != self.failed_revision

    @property
    def label(self) -> str:
        """What a press on the fix does, in the words of the setting's new value."""
        if self.is_there_already:
            return f"Build revision {self.base.number}"
        if len(self.changes) != 1:
            return f"Apply {len(self.changes)} changes and retry"
        (change,) = self.changes
        if change.new is None:
            return f"Leave out {change.field.rpartition('.')[2]} and retry"
        value = value_words(change.new)
        if isinstance(change.new, str) and len(value) <= _LONGEST_VALUE:
            return f"Use {value} and retry"
        short = len(value) <= _LONGEST_VALUE
        name = change.field.rpartition(".")[2]
        return f"Set {name} to {value} and retry" if short else f"Change {name} and retry"

    @property
    def is_there_already(self) -> bool:
        return self.problem is None and self.text == self.base.text


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Why a build was made: another one failed, and its fix was applied."""

    build: Build
    code: str
    sentence: str
    base_revision: int
    difference: Sequence[DifferenceLine]


def fix_proposal(build: Build) -> Proposal | None:
    patch = (build.failure or {}).get("fix")
    base = revision_last(config=build.revision.config) if patch else None
    if not patch or base is None:
        return None
    try:
        text = edit_yaml(base.text, patch)
    except UneditableTextError as error:
        return _proposal(build, base, patch, text=base.text, problem=str(error))
    parsed = parse_text(text)
    problem = " ".join(error.message for error in parsed.errors[:_MOST_SENTENCES])
    return _proposal(build, base, patch, text=text, problem=problem or None)


def fix_origin(build: Build) -> Origin | None:
    fixed = build.fixed
    if build.after is None or not fixed:
        return None
    base = Revision.objects.filter(
        config_id=build.revision.config_id, number=fixed["base_revision"]
    ).first()
    return Origin(
        build=build.after,
        code=fixed["code"],
        sentence=fixed["sentence"],
        base_revision=fixed["base_revision"],
        difference=text_difference(base.text, build.revision.text) if base else (),
    )


def fix_made(build: Build) -> Build | None:
    return build.followers.filter(fixed__code=(build.failure or {}).get("code")).last()


def fix_followers(build: Build) -> Sequence[Build]:
    return list(build.followers.order_by("number"))


def _proposal(
    build: Build, base: Revision, patch: Mapping[str, Any], *, text: str, problem: str | None
) -> Proposal:
    return Proposal(
        patch=patch,
        failed_revision=build.revision.number,
        base=base,
        text=text,
        changes=[
            Change(field=field, old=value_at(base.spec, field), new=value)
            for field, value in patch.items()
        ],
        difference=text_difference(base.text, text),
        problem=problem,
    )
