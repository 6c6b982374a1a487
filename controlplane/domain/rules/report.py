"""What the rules found: findings, rules that wait, effective values, all as data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts.sources import Source
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.rule import Patch, Rule, Severity
from controlplane.domain.spec import SpecError
from controlplane.domain.spec.document import Mark

_FACT_WORDS = {
    "checkpoint": "the checkpoint's files",
    "secret_names": "the names of the stored secrets",
    "devices": "the GPUs that hosts offer",
    "calibration_sets": "the team's calibration sets",
    "plan": "the memory plan",
}


@dataclass(frozen=True, kw_only=True)
class OfferedFix:
    label: str
    patch: Patch
    safe: bool


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one rule, or the schema, says of one config. Plain text, never HTML."""

    code: str
    name: str
    severity: Severity
    message: str
    fields: tuple[str, ...]
    source: Source
    line: int | None = None
    column: int | None = None
    fix: OfferedFix | None = None
    no_fix: str | None = None
    """Why none is offered, where one could be expected."""

    def to_json(self) -> dict[str, Any]:
        fix = self.fix
        return {
            "code": self.code,
            "name": self.name,
            "severity": self.severity.value,
            "message": self.message,
            "fields": list(self.fields),
            "line": self.line,
            "column": self.column,
            "fix": {"label": fix.label, "patch": dict(fix.patch), "safe": fix.safe}
            if fix
            else None,
            "no_fix": self.no_fix,
            "source": {
                "document": self.source.document,
                "section": self.source.section,
                "checked": self.source.checked,
            },
        }


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A rule that cannot answer yet."""

    code: str
    name: str
    facts: tuple[str, ...]

    @property
    def message(self) -> str:
        return "Waits for " + " and ".join(_FACT_WORDS[fact] for fact in self.facts) + "."

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "name": self.name,
            "facts": list(self.facts),
            "message": self.message,
        }


@dataclass(frozen=True, kw_only=True)
class Report:
    """All findings, worst first, and all rules still waiting for a fact."""

    findings: tuple[Finding, ...] = ()
    waiting: tuple[Waiting, ...] = ()

    @property
    def blocks_build(self) -> bool:
        return bool(self.waiting) or any(
            finding.severity is Severity.ERROR for finding in self.findings
        )


def finding_of_rule(rule: Rule, context: Context, place: Mark | None) -> Finding:
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=rule.message(context),
        fields=rule.fields(context),
        source=rule.source,
        line=place.line if place else None,
        column=place.column if place else None,
        fix=next(offered_fixes(rule, context), None),
    )


def offered_fixes(rule: Rule, context: Context) -> Iterator[OfferedFix]:
    for fix in rule.fixes(context):
        if patch := fix.patch(context):
            yield OfferedFix(label=fix.label_for(context), patch=patch, safe=fix.safe)


def finding_of_error(error: SpecError) -> Finding:
    """Return a schema error in the same form, so that one panel shows both."""
    message = f"{error.message} {error.hint}" if error.hint else error.message
    label = error.hint or "Mend it"
    patch = error.patch
    return Finding(
        code=error.code,
        name=error.problem.label,
        severity=Severity.ERROR,
        message=message,
        fields=(error.path,),
        source=error.source,
        line=error.line,
        column=error.column,
        fix=OfferedFix(label=_label(label), patch=patch, safe=False) if patch else None,
    )


def _label(hint: str) -> str:
    for question, answer in (
        ("Did you mean ", "Use "),
        ("It belongs under ", "Move it to "),
        ("Here it is ", "Move it to "),
    ):
        if hint.startswith(question):
            return answer + hint.removeprefix(question).split("?")[0].rstrip(".")
    return hint.rstrip(".") if hint.startswith("Write ") else "Apply"
