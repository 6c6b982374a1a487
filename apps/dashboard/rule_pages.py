"""The page of every check that a config goes through, searched by code, words or setting."""

from dataclasses import dataclass
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.accounts.pages import page
from controlplane.domain.rules.catalogue import ALL_RULES, FAMILIES
from controlplane.domain.rules.reference import fix_says, rule_says
from controlplane.domain.rules.rule import ALL_RUNTIMES, Rule

SEVERITIES = ("error", "warning", "hint")


@dataclass(frozen=True, kw_only=True)
class RuleLine:
    """A rule as its page shows it; the sentence is that of its own bad example."""

    rule: Rule
    sentence: str
    runtimes: str
    fix: str
    source: dict[str, str]

    def matches(self, words: list[str]) -> bool:
        rule = self.rule
        text = f"{rule.code} {rule.name} {self.sentence} {self.fix} {self.runtimes}".lower()
        return all(word in text for word in words)


@page
@require_GET
def rules(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "").strip()[:200]
    severity = request.GET.get("severity", "")
    words = query.lower().replace("`", "").split()
    matching = [
        line
        for line in every_line()
        if line.matches(words) and severity in ("", line.rule.severity.value)
    ]
    families = [
        (code, name, [line for line in matching if line.rule.code.startswith(code)])
        for code, name in FAMILIES.items()
    ]
    context = {
        "asked": query,
        "severity": severity,
        "severities": SEVERITIES,
        "families": [family for family in families if family[2]],
        "count": len(matching),
        "total": len(every_line()),
    }
    return render(request, "dashboard/rules.html", context)


@cache
def every_line() -> tuple[RuleLine, ...]:
    return tuple(_line(rule) for rule in ALL_RULES)


def _line(rule: Rule) -> RuleLine:
    source = rule.source
    return RuleLine(
        rule=rule,
        sentence=rule_says(rule),
        runtimes="" if rule.runtimes == ALL_RUNTIMES else " and ".join(sorted(rule.runtimes)),
        fix=fix_says(rule),
        source={
            "document": source.document,
            "section": source.section,
            "checked": str(source.checked),
        },
    )
