"""An FP8 build that loses too much stops at its gate, and goes on when somebody says so."""

from pathlib import Path

import pytest

from apps.builds.models import Build
from apps.builds.services import build_promote
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.tasks.building import MakeBuild, make_quantized, steps
from workers.tasks.build import build_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]
LOSING_SEED = 18
"""A random model may well gain by rounding; this one loses two percent, in bfloat16 as well."""
STRICT = """enginehouse:
  gate:
    max_perplexity_increase: 0.00000001
"""


def run(build: Build) -> Build:
    build_run(build_id=build.id, format=1)
    build.refresh_from_db()
    return build


def test_a_build_that_loses_too_much_fails_with_its_figures_and_goes_on_when_promoted(
    make_build: MakeBuild, data_dir: Path
) -> None:
    losing = make_tiny_checkpoint(data_dir / "checkpoints" / "losing", seed=LOSING_SEED)
    failed = run(make_quantized(make_build, losing, added=STRICT))
    assert failed.state == "failed", failed.state
    assert (failed.failure["code"], failed.failure["blame"]) == ("EHG-PERPLEXITY", "configuration")
    assert failed.failure["field"] == "enginehouse.gate.max_perplexity_increase"
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
    assert f"{gate['figures']['perplexity_original']:.2f}" in failed.failure["sentence"]
    build_promote(build=failed, user=None, reason="It is a random model.")
    ended = run(failed)
    assert (ended.state, ended.failure) == ("succeeded", None)
    assert (steps(ended)["calibrate"], steps(ended)["gate"]) == ("reused", "reused")
    assert ended.artifact is not None
    passport = ended.artifact.passport
    assert passport["promoted"]["reason"] == "It is a random model."
    assert passport["promoted"]["accepted"] == passport["gate"]["failure"]["sentence"]
