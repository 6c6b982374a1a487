"""The one question that wizard, REST, commands and builder ask of a config."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.memory import MemoryPlan, checked_plan
from controlplane.domain.rules.context import Known
from controlplane.domain.rules.effective import effective_values
from controlplane.domain.rules.report import Report
from controlplane.domain.rules.trials import MOST_TRIED, KnownFor, State, with_tried_fixes
from controlplane.domain.runtimes.effective_value import EffectiveValue
from controlplane.domain.runtimes.requested_features import untested_features
from controlplane.domain.spec import ParseResult, Spec, SpecError, parse_mapping, parse_text


@dataclass(frozen=True, kw_only=True)
class Examination:
    spec: Spec | None
    errors: tuple[SpecError, ...]
    report: Report
    plan: MemoryPlan | None
    runtime: str = ""
    """What serves it; empty where it could not be read."""
    runtime_version: str = ""
    """Its version, as its table names it: the oldest that hosts ran, else the one planned for."""
    untested: tuple[str, ...] = ()
    """What it asks of its runtime that we have not seen to run on such a GPU."""
    effective: tuple[EffectiveValue, ...] = ()

    @property
    def blocks_build(self) -> bool:
        """Whether a build must not start: an error, or a rule that waits."""
        return self.spec is None or self.report.blocks_build

    def to_json(self) -> dict[str, Any]:
        return {
            "findings": [finding.to_json() for finding in self.report.findings],
            "waiting": [waiting.to_json() for waiting in self.report.waiting],
            "effective": [value.to_json() for value in self.effective],
            "runtime": self.runtime,
            "runtime_version": self.runtime_version,
            "untested": list(self.untested),
            "plan": checked_plan(self.plan) if self.plan else None,
            "blocks_build": self.blocks_build,
        }


def examine(config: ParseResult | str | Mapping[str, Any] | Spec, known: Known) -> Examination:
    """Return findings, waiting rules, effective values and memory plan of a config.

    Takes what was parsed before, or text or data to parse. The fixes are not tried.
    """
    state = State(parsed=_parse(config), known_for=lambda _: known)
    return _examination(state, state.report)


def examine_with_fixes(
    parsed: ParseResult, known_for: KnownFor, *, most: int = MOST_TRIED
) -> Examination:
    """Return what `examine` does, with each fix tried before it is offered."""
    state = State(parsed=parsed, known_for=known_for)
    return _examination(state, with_tried_fixes(state, most=most))


def _examination(state: State, report: Report) -> Examination:
    context = state.context
    if context is None:
        return Examination(spec=None, errors=state.parsed.errors, report=report, plan=None)
    return Examination(
        spec=state.parsed.spec,
        errors=(),
        report=report,
        plan=context.plan if context.has("plan") else None,
        runtime=context.runtime,
        runtime_version=context.version,
        untested=untested_features(context.spec, context.known.checkpoint),
        effective=effective_values(context),
    )


def _parse(config: ParseResult | str | Mapping[str, Any] | Spec) -> ParseResult:
    if isinstance(config, ParseResult):
        return config
    if isinstance(config, Spec):
        return ParseResult(spec=config)
    return parse_text(config) if isinstance(config, str) else parse_mapping(config)
