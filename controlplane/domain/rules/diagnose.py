from collections.abc import Callable, Sequence

from controlplane.domain.rules.context import Context
from controlplane.domain.rules.report import Finding, Report, Waiting, finding_of_rule
from controlplane.domain.rules.rule import Rule
from controlplane.domain.spec.document import Mark

PlaceOf = Callable[[str], Mark | None]


def _no_place(_: str) -> None:
    return None


def diagnose(context: Context, rules: Sequence[Rule], *, place_of: PlaceOf = _no_place) -> Report:
    """Return every finding, worst first, and every rule that waits for a fact.

    A rule whose fact can never arrive, because the checkpoint could not be read, is passed over:
    the finding about the checkpoint already blocks the build.
    """
    findings: list[Finding] = []
    waiting: list[Waiting] = []
    runtime = context.runtime
    for rule in rules:
        if runtime not in rule.runtimes or not rule.concerns(context):
            continue
        if any(context.is_unobtainable(fact) for fact in rule.needs):
            continue
        missing = dict.fromkeys(name for fact in rule.needs for name in context.missing(fact))
        if missing:
            waiting.append(Waiting(code=rule.code, name=rule.name, facts=tuple(missing)))
        elif rule.when(context):
            places = (place_of(field) for field in rule.fields(context))
            place = next((place for place in places if place is not None), None)
            findings.append(finding_of_rule(rule, context, place))
    findings.sort(key=lambda finding: (finding.severity.rank, finding.code))
    return Report(findings=tuple(findings), waiting=tuple(waiting))
