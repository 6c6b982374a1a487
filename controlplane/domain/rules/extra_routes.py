"""EH6: routes of the engine that a config opens by name."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example
from controlplane.domain.rules.rule import Fix, Rule, Severity


def _listed(c: Context) -> str:
    return ", ".join(f"`{each}`" for each in c.spec.settings.extra_routes)


EXTRA_ROUTES = Rule(
    code="EH647",
    name="extra-routes-that-are-not-metered",
    severity=Severity.HINT,
    fields=lambda c: (f"{c.spec.settings_path}.extra_routes",),
    when=lambda c: bool(c.spec.settings.extra_routes),
    message=lambda c: (
        f"Every key that may call the model may call {_listed(c)} too, whatever the engine does "
        "there, and what these routes compute is not metered."
    ),
    fix=Fix(
        label="Close them",
        patch=lambda c: {f"{c.spec.settings_path}.extra_routes": None},
        safe=False,
    ),
    source=sources.enginehouse("the gateway's lists of routes"),
    bad=Example(config={"enginehouse.extra_routes": ["/tokenizer_info"]}),
    good=Example(),
)

RULES = (EXTRA_ROUTES,)
