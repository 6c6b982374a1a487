"""An FP8 build runs from the queue to an artifact that answers, and survives what others do."""

import time
from pathlib import Path
from typing import Any

import pytest

from apps.builds.models import Build
from apps.builds.services import build_cancel, build_promote, build_retry
from tests.processes import wait_for
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.tasks.building import MakeBuild, make_buildable, steps
from tests.workers.tasks.hands import (
    CANCEL_SECONDS,
    TRUE_STATE_SECONDS,
    Sweeper,
    fresh,
    orphans,
    owner_pid,
    send,
    wait_for_build,
    wait_for_step,
)
from tests.workers.tasks.pair import Pair
from workers.build_steps.processes import process

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.recovery, pytest.mark.engine]
STEP_DELAY_SECONDS = 0.0
"""The steps that run torch take long enough by themselves."""
LONG_SECONDS = 120.0
STEPS = ("fetch", "inspect", "calibrate", "gate", "package", "smoke_test")
FP8 = """    quantization_type: fp8
    quantization_config:
      calib_dataset: enginehouse/general
      calib_size: 64
      calib_max_seq_length: 64
"""
LOSING_SEED = 4
"""A random model may well gain by rounding; this one loses one percent."""
STRICT = """enginehouse:
  gate:
    max_perplexity_increase: 0.00000001
"""


def make_quantized(
    make_build: MakeBuild, checkpoint: Path, *, added: str = "", **changes: Any
) -> Build:
    """A queued FP8 build of the tiny checkpoint, with its six steps."""
    revision = make_buildable(checkpoint, added=FP8 + added)
    return make_build(revision=revision, **changes)


def test_an_fp8_build_survives_a_kill_in_calibration_and_ends_with_its_calibration_and_gate(
    make_build: MakeBuild, checkpoint: Path, pair: Pair
) -> None:
    build = send(make_quantized(make_build, checkpoint, pool=pair.pool))
    child = wait_for_step(build, "calibrate")
    pid = owner_pid(fresh(build))
    assert fresh(build).state == "calibrating"
    pair.take(pid).kill()
    # Libraries that load just then keep it from noticing for a moment.
    wait_for(lambda: not process(child), seconds=TRUE_STATE_SECONDS, what="the child's end")
    ended = wait_for_build(
        build, lambda each: each.finished_at, seconds=LONG_SECONDS, meanwhile=Sweeper()
    )
    assert ended.failure is None, ended.failure
    assert (ended.state, ended.attempt) == ("succeeded", 1)
    assert steps(build) == dict.fromkeys(STEPS, "finished")
    calibrate = build.steps.get(name="calibrate")
    assert (calibrate.progress_unit, calibrate.progress_done) == ("samples", 62)
    passport = ended.artifact.passport
    assert passport["calibration"]["dataset"] == "enginehouse/general"
    assert passport["calibration"]["revision"].startswith("sha256:")
    assert passport["gate"] == build.steps.get(name="gate").result
    assert passport["gate"]["state"] == "passed"
    engine = build.steps.get(name="smoke_test").result["engine"]
    assert any("FP8 weights of 14 layers" in each for each in engine["emulated"])
    assert "hf_quant_config.json" in {each["path"] for each in ended.artifact.files}
    assert not orphans()
    assert_reused(send(make_build(revision=build.revision, pool=pair.pool)), build)


def assert_reused(second: Build, first: Build) -> None:
    """The second build of the same inputs takes the first one's artifact, and shows its gate."""
    ended = wait_for_build(second, lambda each: each.finished_at)
    assert ended.artifact == fresh(first).artifact
    made = {name: state for name, state in steps(second).items() if name not in STEPS[:2]}
    assert made == dict.fromkeys(STEPS[2:], "reused")
    gates = [each.steps.get(name="gate").result for each in (first, second)]
    assert gates[0] == gates[1]
    calibrated = second.steps.get(name="calibrate").result
    assert calibrated["calibration"]["used"] == 62


def test_a_cancel_ends_calibration_and_a_retry_that_loses_too_much_fails_with_its_figures(
    make_build: MakeBuild, pair: Pair, data_dir: Path
) -> None:
    losing = make_tiny_checkpoint(data_dir / "checkpoints" / "losing", seed=LOSING_SEED)
    build = send(make_quantized(make_build, losing, added=STRICT, pool=pair.pool))
    wait_for_step(build, "calibrate")
    asked_at = time.monotonic()
    build_cancel(build=fresh(build))
    ended = wait_for_build(build, lambda each: each.finished_at, seconds=CANCEL_SECONDS + 1)
    assert time.monotonic() - asked_at < CANCEL_SECONDS
    assert (ended.state, steps(build)["calibrate"]) == ("cancelled", "cancelled")
    wait_for(lambda: not orphans(), seconds=CANCEL_SECONDS, what="no orphan")
    assert not (data_dir / "builds" / build.id / "calibrate").exists()

    build_retry(build=ended)
    failed = wait_for_build(build, lambda each: each.finished_at, seconds=LONG_SECONDS)
    assert failed.state == "failed", failed.state
    assert (failed.failure["code"], failed.failure["blame"]) == ("EHG-PERPLEXITY", "configuration")
    assert failed.failure["field"] == "enginehouse.gate.max_perplexity_increase"
    assert steps(build) == {
        "fetch": "reused",
        "inspect": "reused",
        "calibrate": "finished",
        "gate": "failed",
        "package": "waiting",
        "smoke_test": "waiting",
    }
    gate = build.steps.get(name="gate").result
    assert gate["state"] == "failed"
    assert f"{gate['figures']['perplexity_original']:.2f}" in failed.failure["sentence"]
    assert_goes_on_when_promoted(failed)


def assert_goes_on_when_promoted(failed: Build) -> None:
    build_promote(build=failed, user=None, reason="It is a random model.")
    ended = wait_for_build(failed, lambda each: each.finished_at, seconds=LONG_SECONDS)
    assert (ended.state, ended.failure) == ("succeeded", None)
    assert (steps(ended)["calibrate"], steps(ended)["gate"]) == ("reused", "reused")
    passport = ended.artifact.passport
    assert passport["promoted"]["reason"] == "It is a random model."
    assert passport["promoted"]["accepted"] == passport["gate"]["failure"]["sentence"]
