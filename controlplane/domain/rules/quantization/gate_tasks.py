"""EH2: tasks of the quality gate."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Config, Example
from controlplane.domain.rules.quantization.precision import QUANTIZATION, is_quantized
from controlplane.domain.rules.rule import Fix, Rule, Severity

_TASKS = "enginehouse.gate.tasks"
_FP8: Config = {"resources.accelerator": "H100", QUANTIZATION: "fp8"}
_ASKED: Config = {_TASKS: {"arc_easy": {"limit": 200}}}


def _place(c: Context) -> str:
    return f"{c.spec.settings_path}.gate.tasks"


def _reason(c: Context) -> str:
    """Return why no task will be done; empty where they will."""
    if not is_quantized(c):
        return "nothing is quantized, so there is nothing to compare"
    if c.spec.base_model.is_encoder:
        return "the gate compares an encoder's vectors and labels instead"
    if not c.spec.settings.gate.enabled:
        return "`enginehouse.gate.enabled` is false"
    return ""


UNDONE = Rule(
    code="EH249",
    name="gate-tasks-that-nothing-does",
    severity=Severity.HINT,
    fields=lambda c: (_place(c),),
    concerns=lambda c: bool(c.spec.settings.gate.tasks),
    when=lambda c: bool(_reason(c)),
    message=lambda c: f"The gate's tasks have no effect: {_reason(c)}.",
    fix=Fix(label="Remove the tasks", patch=lambda c: {_place(c): None}, safe=True),
    source=sources.enginehouse("quantization, the gate"),
    bad=Example(config={"resources.accelerator": "H100", **_ASKED}),
    good=Example(config={**_FP8, **_ASKED}),
)
