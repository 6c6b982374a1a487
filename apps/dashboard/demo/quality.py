from collections.abc import Iterator, Mapping
from typing import Any

from apps.builds.panels.gate import GatePanel
from apps.ui import formats
from controlplane.domain.gate_result import GateResult


def quality_lines(build: Mapping[str, Any]) -> Iterator[str]:
    calibrated, gate = _result(build, "calibrate"), _result(build, "gate")
    if calibration := calibrated.get("calibration"):
        yield (
            f"calibrated on {calibration['used']} samples of {calibration['dataset']}, "
            f"{formats.number(calibration['tokens'])} tokens, on {calibrated['device']}"
        )
    if not gate:
        return
    panel = GatePanel(result=GateResult.model_validate(gate))
    for figure in panel.figures:
        change = f"{figure.original} -> {figure.exported}, " * (figure.original != formats.ABSENT)
        limit = f" (limit {figure.limit})" * (figure.limit != formats.ABSENT)
        yield f"{figure.label.lower()}: {change}{figure.measured}{limit}"
    yield f"gate {panel.word}" + (f", on {panel.measured_on}" if panel.measured_on else "")


def emulation_words(build: Mapping[str, Any]) -> str:
    """Return how this machine runs numbers that it does not have; empty where it has them all."""
    engine = _result(build, "smoke_test").get("engine") or {}
    words = "; ".join(engine.get("emulated") or ())
    return f"Emulated on this CPU: {words}." if words else ""


def _result(build: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    results = (step["result"] for step in build["steps"] if step["name"] == name)
    return next(results, None) or {}
