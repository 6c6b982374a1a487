"""Findings as the editor shows them: by severity, one line each until opened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.ui.formats import first_sentence

_SEVERITIES = {"error": "blocking", "warning": "warning", "hint": "note"}
_SHOWN_LINES = 6
"""Lines of a group before it scrolls: memory and speed stay within a screen."""


@dataclass(frozen=True, kw_only=True)
class FindingView:
    """One finding, with its place among all, by which its fix is asked for."""

    index: int
    finding: Mapping[str, Any]

    @property
    def rest(self) -> str:
        message = str(self.finding["message"])
        return message.removeprefix(first_sentence(message)).strip()


@dataclass(frozen=True, kw_only=True)
class FindingGroup:
    severity: str
    views: Sequence[FindingView]

    @property
    def title(self) -> str:
        word, count = _SEVERITIES[self.severity], len(self.views)
        return f"{count} {word}" + ("s" if count > 1 and self.severity != "error" else "")

    @property
    def is_open(self) -> bool:
        """Whether its lines are seen at first: notes wait until someone looks."""
        return self.severity != "hint"

    @property
    def scrolls(self) -> bool:
        return len(self.views) > _SHOWN_LINES


def finding_views(findings: Sequence[Mapping[str, Any]]) -> Sequence[FindingView]:
    return [FindingView(index=index, finding=each) for index, each in enumerate(findings)]


def finding_groups(views: Sequence[FindingView]) -> Sequence[FindingGroup]:
    groups = [
        FindingGroup(
            severity=severity,
            views=[view for view in views if view.finding["severity"] == severity],
        )
        for severity in _SEVERITIES
    ]
    return [group for group in groups if group.views]
