"""The shape of one pattern: a kind of failure that is read from what a process printed."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.kind import FailureKind

Fix = Mapping[str, Any]
_CHECKED = "2026-11-28"
_NAME = re.compile(r"{(\w+)}")


@dataclass(frozen=True, kw_only=True)
class Example:
    """A line as it was really printed, and where that is known from."""

    text: str
    source: str
    checked: str
    """When the source said so, as `2026-11-28`."""
    exit_code: int = 1
    was_oom_killed: bool = False


@dataclass(frozen=True, kw_only=True)
class Pattern(FailureKind):
    """A stable part of what a dying process prints, or the way it ends, and what that means.

    Its words name the groups of the expression and `CrashEvidence.words`.
    """

    expression: re.Pattern[str] | None = None
    """None where the way it ended is all there is."""
    ending: Callable[[CrashEvidence], bool] | None = None
    holds: Callable[[re.Match[str]], bool] | None = None
    """What the words of a match must say besides, by their figures."""
    more: str = ""
    """A second sentence, left out where one of its groups did not match."""
    fix_for: Callable[[CrashEvidence], Fix | None] | None = None
    """What to change in this config, None where that would change nothing."""
    stands_before_traceback: bool = False
    """Whether its words are printed ahead of an exception that says less."""
    example: Example

    @staticmethod
    def of(kind: FailureKind, expression: str, **own: Any) -> "Pattern":
        """Return how a kind that is also raised by name is read; `own` are other words for it."""
        words = {"sentence": kind.sentence, "hint": kind.hint, "field": kind.field}
        return log_pattern(kind.code, kind.blame, expression, **{**words, **own})

    def say(self, values: Mapping[str, object]) -> str:
        """Return the sentence with these values in it, and the second one where it has its own."""
        if not self.more or not all(values.get(name) for name in _NAME.findall(self.more)):
            sentence = self.sentence.format_map(values)
        else:
            sentence = f"{self.sentence} {self.more}".format_map(values)
        return sentence.replace("the ", "The ", 1) if sentence.startswith("the ") else sentence

    def last_match(self, text: str) -> re.Match[str] | None:
        matches = list(self.expression.finditer(text)) if self.expression else []
        meant = [each for each in matches if self.holds is None or self.holds(each)]
        return meant[-1] if meant else None


def log_pattern(
    code: str,
    blame: Blame,
    expression: str,
    sentence: str,
    hint: str,
    *,
    text: str,
    source: str,
    checked: str = _CHECKED,
    fix: Any = None,
    **own: Any,
) -> Pattern:
    return Pattern(
        code=code, blame=blame, expression=re.compile(expression), sentence=sentence, hint=hint,
        fix_for=fix, example=Example(text=text, source=source, checked=checked), **own,
    )  # fmt: skip
