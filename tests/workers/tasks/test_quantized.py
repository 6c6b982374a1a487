"""An FP8 build that loses too much stops at its gate, and goes on when somebody says so."""

from pathlib import Path

import pytest

from apps.builds.models import Build
from apps.builds.services.requests import build_promote
from tests.trained_checkpoint import make_trained
from tests.workers.tasks.building import MakeBuild, make_quantized, steps
from workers.tasks.build import build_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]
STRICT = """enginehouse:
  gate:
    max_perplexity_increase: 1
    max_logit_drift_nats: 0.000000001
"""
"""Perplexity may well fall by rounding; no rounding is without a drift."""


def run(build: Build) -> Build:
    build_run(build_id=build.id, format=1)
    build.refresh_from_db()
    return build


def test_a_build_that_loses_too_much_fails_with_its_figures_and_goes_on_when_promoted(
    make_build: MakeBuild, data_dir: Path
) -> None:
    losing = make_trained(data_dir / "checkpoints" / "losing")
    failed = run(make_quantized(make_build, losing, added=STRICT))
    assert failed.state == "failed", failed.state
    assert (failed.failure["code"], failed.failure["blame"]) == ("EHG-DRIFT", "configuration")
    assert failed.failure["field"] == "enginehouse.gate.max_logit_drift_nats"
    assert steps(failed) == {
        "fetch": "finished",
        "inspect": "finished",
        "calibrate": "finished",
        "gate": "failed",
        "package": "waiting",
        "smoke_test": "waiting",
    }
    gate = failed.steps.get(name="gate").result
    assert gate["state"] == "failed"
    assert f"{gate['figures']['logit_drift_nats']:.4f} nats" in failed.failure["sentence"]
    build_promote(build=failed, user=None, reason="It is a random model.")
    ended = run(failed)
    assert (ended.state, ended.failure) == ("succeeded", None)
    assert (steps(ended)["calibrate"], steps(ended)["gate"]) == ("reused", "reused")
    assert ended.artifact is not None
    passport = ended.artifact.passport
    assert passport["promoted"]["reason"] == "It is a random model."
    assert passport["promoted"]["accepted"] == passport["gate"]["failure"]["sentence"]
