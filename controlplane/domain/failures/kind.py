"""The shape of the registry's entries: a code, who has to act, and the words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

from controlplane.domain.failures.failure import Blame, Failure


@dataclass(frozen=True, kw_only=True)
class FailureKind:
    """What can be said under one code; several kinds may share it where the words differ."""

    code: str
    """Whole, or only its end where several sources have it: see `prefixes`."""
    blame: Blame
    sentence: str
    """With the names of values in braces, as `str.format_map` has them."""
    hint: str
    field: str | None = None
    fix: Mapping[str, Any] | None = None
    """The change that always helps; one that depends on the case is passed to `failure`."""
    meaning: str = ""
    """What the reference says in the sentence's place, where the case makes all of it."""
    prefixes: tuple[str, ...] = ()
    """How the code begins for each of the sources that share the words."""

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(f"{each}-{self.code}" for each in self.prefixes) or (self.code,)

    def under(self, prefix: str) -> Self:
        return replace(self, code=f"{prefix}-{self.code}", prefixes=())

    def say(self, values: Mapping[str, object]) -> str:
        return self.sentence.format_map(values)

    def failure(
        self,
        *,
        field: str | None = None,
        fix: Mapping[str, Any] | None = None,
        detail: str | None = None,
        **values: object,
    ) -> Failure:
        return Failure(
            code=self.code,
            blame=self.blame,
            sentence=self.say(values),
            field=field or self.field,
            hint=self.hint.format_map(values),
            fix=fix or self.fix,
            detail=detail,
        )


def kind(
    blame: Blame,
    code: str,
    sentence: str,
    hint: str,
    *,
    field: str | None = None,
    fix: Mapping[str, Any] | None = None,
    meaning: str = "",
    of: Sequence[str] = (),
) -> FailureKind:
    """Return an entry; `of` are the prefixes of the sources that share it."""
    return FailureKind(
        code=code, blame=blame, sentence=sentence, hint=hint, field=field, fix=fix,
        meaning=meaning, prefixes=tuple(of),
    )  # fmt: skip


configuration = partial(kind, Blame.CONFIGURATION)
checkpoint = partial(kind, Blame.CHECKPOINT)
machine = partial(kind, Blame.MACHINE)
ours = partial(kind, Blame.OURS)
