"""Fixes tried on the parsed config before they are offered: one that passes makes it better.

A fix is offered where it removes its finding, adds no error and the rank of the whole verdict falls
(`verdict.py`). Where no fix of a rule does alone, the fixes of the errors that it would bring are
tried along with it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from controlplane.domain.rules.catalogue import ALL_RULES
from controlplane.domain.rules.context import Context, Known, context_of
from controlplane.domain.rules.diagnose import PlaceOf, diagnose
from controlplane.domain.rules.report import (
    Finding,
    OfferedFix,
    Report,
    finding_of_error,
    offered_fixes,
)
from controlplane.domain.rules.rule import Rule, Severity
from controlplane.domain.rules.verdict import Verdict
from controlplane.domain.spec import ParseResult, Spec, parse_mapping
from controlplane.domain.spec.patch import patched

KnownFor = Callable[[Spec], Known]
"""The facts about a config that a fix would make of this one; another kind of GPU has others."""

MOST_TRIED = 8
"""Findings whose fixes are tried with a change: of errors and warnings first."""
_MOST_COMBINED = 3
_RULES: Mapping[str, Rule] = {rule.code: rule for rule in ALL_RULES}
_CHECKPOINT = "trt_llm.build.checkpoint_repository"
_OTHER_CHECKPOINT = (_CHECKPOINT, *(f"{_CHECKPOINT}.{n}" for n in ("source", "repo", "revision")))
_OTHER_SECRET = ("secrets", f"{_CHECKPOINT}.runtime_secret_name")
_MOST_ATTEMPTS = 5
_FOR_YOU = "There is no fix to press: the value is yours to choose."
_NO_SETTING = "No setting of the config mends this."


@dataclass(frozen=True, kw_only=True)
class State:
    parsed: ParseResult
    known_for: KnownFor

    @cached_property
    def context(self) -> Context | None:
        spec = self.parsed.spec
        return context_of(spec, self.known_for(spec)) if spec else None

    @cached_property
    def report(self) -> Report:
        """All findings with the first fix of each, none of them tried."""
        if self.context is None:
            return Report(findings=tuple(finding_of_error(e) for e in self.parsed.errors))
        place_of: PlaceOf = self.parsed.place_of
        return diagnose(self.context, ALL_RULES, place_of=place_of)

    @property
    def verdict(self) -> Verdict:
        return Verdict(findings=self.report.findings, is_readable=self.context is not None)

    def fixes(self, finding: Finding) -> list[OfferedFix]:
        if self.context is None:
            return [finding.fix] if finding.fix else []
        return list(offered_fixes(_RULES[finding.code], self.context))

    def after(self, patch: Mapping[str, Any]) -> "State":
        changed = parse_mapping(patched(self.parsed.data, patch))
        return State(parsed=changed, known_for=_read_anew(self.known_for, patch))


def with_tried_fixes(state: State, *, most: int = MOST_TRIED) -> Report:
    """Return the report with the fixes that passed, and why none is offered where none did.

    Beyond `most` findings a fix is offered untried; `tried_fix` tells of it when it is pressed.
    """
    findings: list[Finding] = []
    for finding in state.report.findings:
        is_due = most > 0 and bool(state.fixes(finding))
        most -= is_due
        findings.append(tried(state, finding) if is_due else _untried(state, finding))
    return replace(state.report, findings=tuple(findings))


def tried(state: State, finding: Finding) -> Finding:
    """Return the finding with a fix that passed, or with why it has none."""
    attempts = list(_attempts(state, finding))
    for attempt in attempts:
        if attempt.passes:
            return replace(finding, fix=attempt.fix)
    for attempt in attempts:
        if combined := _combined(attempt):
            return replace(finding, fix=combined)
    if finding.severity is Severity.HINT:
        return replace(finding, fix=None)
    return replace(finding, fix=None, no_fix=attempts[0].reason)


def _untried(state: State, finding: Finding) -> Finding:
    if finding.severity is not Severity.ERROR or finding.fix is not None:
        return finding
    return replace(finding, no_fix=_NO_SETTING if state.context else _FOR_YOU)


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    before: State
    finding: Finding
    parts: tuple[OfferedFix, ...]

    @property
    def fix(self) -> OfferedFix:
        """Return the parts as one, a later one before an earlier where both set the same."""
        patch: dict[str, Any] = {}
        labels: list[str] = []
        for part in reversed(self.parts):
            if part.patch.keys() - patch.keys() and part.label not in labels:
                labels.insert(0, part.label)
            patch = {**part.patch, **patch}
        first, *others = labels
        label = " and ".join([first, *(other[:1].lower() + other[1:] for other in others)])
        return OfferedFix(label=label, patch=patch, safe=all(part.safe for part in self.parts))

    @cached_property
    def after(self) -> State:
        return self.before.after(self.fix.patch)

    @cached_property
    def brought(self) -> tuple[Finding, ...]:
        """Every error that was not there before."""
        return self.after.verdict.errors_beyond(self.before.verdict)

    @property
    def others(self) -> tuple[Finding, ...]:
        """What would be found that was not before, whatever its severity."""
        before = self.before.verdict
        return tuple(each for each in self.after.verdict.findings if not before.has(each))

    @property
    def passes(self) -> bool:
        before, after = self.before.verdict, self.after.verdict
        return not after.has(self.finding) and not self.brought and after.rank < before.rank

    @property
    def in_the_way(self) -> Finding | None:
        if self.brought:
            return self.brought[0]
        return self.finding if self.after.verdict.has(self.finding) else None

    @property
    def reason(self) -> str:
        if self.brought:
            other = self.brought[0]
            return f"“{self.fix.label}” alone would bring {other.code}: {other.message}"
        if self.after.verdict.has(self.finding):
            return "No setting that was tried mends this."
        codes = " and ".join(each.code for each in self.others[:2])
        return f"No fix is offered: “{self.fix.label}” would bring {codes} in its place."


def _attempts(state: State, finding: Finding) -> Iterator[_Attempt]:
    for fix in state.fixes(finding)[:_MOST_ATTEMPTS]:
        yield _Attempt(before=state, finding=finding, parts=(fix,))


def _combined(attempt: _Attempt) -> OfferedFix | None:
    for _ in range(_MOST_COMBINED - 1):
        blocking = attempt.in_the_way
        further = attempt.after.fixes(blocking) if blocking else []
        if not further or further[0].patch.items() <= attempt.fix.patch.items():
            return None
        attempt = replace(attempt, parts=(*attempt.parts, further[0]))
        if attempt.passes:
            return attempt.fix
    return None


def _read_anew(known_for: KnownFor, patch: Mapping[str, Any]) -> KnownFor:
    """Return the facts without what a patch makes unknown: another checkpoint, another secret."""
    is_other = any(path in patch for path in _OTHER_CHECKPOINT)
    if not is_other and not any(path.startswith(_OTHER_SECRET) for path in patch):
        return known_for

    def known(spec: Spec) -> Known:
        known_facts = replace(known_for(spec), checkpoint_failure=None)
        return replace(known_facts, checkpoint=None) if is_other else known_facts

    return known
