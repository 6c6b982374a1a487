"""EH6: routes of the engine that clients may call, and those that a config opens by name."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example
from controlplane.domain.rules.rule import GPU_RUNTIMES, Fix, Rule, Severity, at
from controlplane.domain.runtimes.open_routes import borrowed_routes


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


def _borrowed(c: Context) -> list[str]:
    return [
        routes
        for runtime, version in sorted(c.known.versions)
        if runtime == c.runtime and (routes := borrowed_routes(runtime, version))
    ]


def _ran(version: str) -> Example:
    return Example(
        config={"resources.accelerator": "H100", "enginehouse.runtime": "vllm"},
        runtimes=frozenset({"native", "vllm"}),
        versions=frozenset({("vllm", version)}),
    )


BORROWED_ROUTES = Rule(
    code="EH648",
    name="engine-version-without-route-list",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    fields=at("enginehouse.runtime"),
    when=lambda c: bool(_borrowed(c)),
    message=lambda c: f"A host here last ran this engine: {' '.join(_borrowed(c))}",
    source=sources.enginehouse("the gateway's lists of routes"),
    bad=_ran("0.27.1"),
    good=_ran("0.25.1"),
)
