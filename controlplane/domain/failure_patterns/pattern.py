"""The shape of one pattern, and the words of its sentence."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.failure_patterns.crash_evidence import CrashEvidence
from controlplane.domain.failures import Blame

Fix = Mapping[str, Any]
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
class Pattern:
    """A stable part of what a dying process prints, or the way it ends, and what that means."""

    code: str
    blame: Blame
    expression: re.Pattern[str] | None = None
    """None where the way it ended is all there is."""
    ending: Callable[[CrashEvidence], bool] | None = None
    holds: Callable[[re.Match[str]], bool] | None = None
    """What the words of a match must say besides, by their figures."""
    sentence: str
    """With the names of groups and of `CrashEvidence.words` in braces."""
    more: str = ""
    """A second sentence, left out where one of its groups did not match."""
    hint: str
    field: str | None = None
    fix: Callable[[CrashEvidence], Fix | None] | None = None
    """What to change in this config, None where that would change nothing."""
    stands_before_traceback: bool = False
    """Whether its words are printed ahead of an exception that says less."""
    example: Example

    def say(self, words: Mapping[str, str]) -> str:
        """Return the sentence with these words in it."""
        if not self.more or not all(words.get(name) for name in _NAME.findall(self.more)):
            said = self.sentence.format_map(words)
        else:
            said = f"{self.sentence} {self.more}".format_map(words)
        return said.replace("the ", "The ", 1) if said.startswith("the ") else said

    def last_match(self, text: str) -> re.Match[str] | None:
        """Return where the text says it last."""
        matches = list(self.expression.finditer(text)) if self.expression else []
        meant = [each for each in matches if self.holds is None or self.holds(each)]
        return meant[-1] if meant else None
