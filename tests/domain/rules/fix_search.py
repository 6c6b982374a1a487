"""Presses fixes as a person would, and proves of each what was promised when it was shown."""

import json
from collections.abc import Callable
from typing import Any

from controlplane.domain.rules import Finding, Known, Severity
from controlplane.domain.rules.trials import State, with_tried_fixes
from controlplane.domain.spec import parse_mapping

_ALL = 1_000
MOST_PRESSES = 60


def state_of(config: dict[str, Any], known: Known) -> State:
    return State(parsed=parse_mapping(config), known_for=lambda _: known)


def shown(state: State) -> tuple[Finding, ...]:
    """Return what a person sees, every fix of it tried."""
    return with_tried_fixes(state, most=_ALL).findings


def broken_promises(state: State) -> list[str]:
    """Return each shown fix that does not do what was promised, in words."""
    return [
        f"{finding.code}: {finding.fix.label}: {wrong}"
        for finding in shown(state)
        if finding.fix and (wrong := _wrong(state, finding, finding.fix.patch))
    ]


def _wrong(state: State, finding: Finding, patch: Any) -> str:
    after = state.after(patch)
    if after.parsed.data == state.parsed.data:
        return "changes nothing"
    if any(_same(each, finding) for each in after.report.findings):
        return "leaves the finding"
    before = {_key(each) for each in _errors(state)}
    brought = [each.code for each in _errors(after) if _key(each) not in before]
    hides = state.context is None and after.context is not None
    return f"brings {brought}" if brought and not hides else ""


def pressed_to_the_end(
    state: State, choose: Callable[[list[Finding]], Finding]
) -> tuple[State, Finding | None]:
    """Return where pressing ends, and the error there that has no fix.

    Fails where a text that was there before comes again.
    """
    seen: set[str] = set()
    for _ in range(MOST_PRESSES):
        text = json.dumps(state.parsed.data, sort_keys=True)
        assert text not in seen, f"went round in a circle: {text}"
        seen.add(text)
        findings = [each for each in shown(state) if each.severity is Severity.ERROR]
        fixable = [each for each in findings if each.fix]
        if not fixable:
            return state, next(iter(findings), None)
        pressed = choose(fixable)
        assert pressed.fix
        state = state.after(pressed.fix.patch)
    raise AssertionError("pressing never ends")


def _errors(state: State) -> list[Finding]:
    return [each for each in state.report.findings if each.severity is Severity.ERROR]


def _key(finding: Finding) -> tuple[str, object]:
    return (finding.code, finding.fields if finding.code.startswith("EH0") else None)


def _same(one: Finding, other: Finding) -> bool:
    return _key(one) == _key(other)
