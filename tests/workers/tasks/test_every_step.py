"""Whatever is killed or cancelled in whichever step of a build, it comes true again."""

import signal
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from apps.builds.models import Artifact, Build
from apps.builds.services.requests import build_cancel, build_retry
from apps.fleet.models import DeviceLease
from controlplane import clock
from tests import factories
from tests.workers.tasks.building import (
    QUANTIZED_STEPS,
    MakeBuild,
    make_quantized,
    steps,
)
from tests.workers.tasks.hands import (
    Sweeper,
    fresh,
    is_at_work,
    kill_process,
    owner_pid,
    send,
    wait_for_build,
    wait_for_end,
    wait_for_no_orphans,
    wait_for_samples,
    wait_for_step,
    wait_until_nothing_is_left,
)
from tests.workers.tasks.pair import Pair
from workers.build_steps.environment import SAMPLES_GATE
from workers.build_steps.processes import process
from workers.build_steps.processes import send as signal_process

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.recovery,
    pytest.mark.engine,
    pytest.mark.process,
    pytest.mark.timeout(900),  # harms in each of six steps, and as many new processes
]
UNDER_ITS_ROLE = True
"""The workers know no more of the database than is made for them."""
STEPS_WITH_DEVICES = ("calibrate", "gate", "smoke_test")

Harm = Callable[[Build, str, Pair], None]


def child_killed(build: Build, step: str, pair: Pair) -> None:
    """The build fails with that cause; a retry goes on."""
    kill_process(wait_for_step(build, step, pair))
    ended = wait_for_build(build, lambda each: each.state == "failed")
    assert ended.failure["code"] == "EHB-KILLED"
    assert step in ended.failure["sentence"]
    assert steps(build)[step] == "failed"
    build_retry(build=ended)


def cancelled(build: Build, step: str, pair: Pair) -> None:
    """The build ends; a retry goes on."""
    wait_for_its_middle(build, step, pair)
    build_cancel(build=fresh(build))
    ended = wait_for_build(build, lambda each: each.finished_at)
    assert (ended.state, steps(build)[step]) == ("cancelled", "cancelled")
    wait_until_nothing_is_left(build)
    assert not (settings.DATA_DIR / "builds" / build.id / step).exists()
    assert not live_claims(build)
    build_retry(build=ended)


def worker_killed(build: Build, step: str, pair: Pair) -> None:
    """The child ends by itself, and another worker goes on with the step."""
    child = wait_for_its_middle(build, step, pair)
    pid = owner_pid(fresh(build))
    pair.take(pid).kill()
    wait_for_end(child)
    wait_for_another(build, step, pid)


def both_killed(build: Build, step: str, pair: Pair) -> None:
    """Another worker goes on with the step."""
    child = process(wait_for_step(build, step, pair))
    assert child is not None
    pid = owner_pid(fresh(build))
    pair.take(pid).send(signal.SIGKILL)
    # Without its worker it may have ended by itself before this.
    signal_process(child, signal.SIGKILL)
    wait_for_another(build, step, pid)


def wait_for_its_middle(build: Build, step: str, pair: Pair) -> int:
    """Return the pid of the step's child; of calibration, once it has seen some samples."""
    child = wait_for_step(build, step, pair)
    if step != "calibrate":
        return child
    pair.gates.let_one_go(step, child)
    return wait_for_samples(build, pair)


def wait_for_another(build: Build, step: str, late: int) -> None:
    attempt = fresh(build).attempt
    wait_for_build(
        build, lambda each: is_at_work(each, step) and owner_pid(each) != late, meanwhile=Sweeper()
    )
    assert fresh(build).attempt == attempt
    now, before = steps(build), QUANTIZED_STEPS[: QUANTIZED_STEPS.index(step)]
    assert {now[name] for name in before if name in now} <= {"finished", "reused"}
    wait_for_no_orphans()


def live_claims(build: Build) -> int:
    return DeviceLease.objects.filter(holder=f"build:{build.id}", released_at=None).count()


HARMS = (child_killed, cancelled, worker_killed, both_killed)
PLAIN_STEPS = tuple(each for each in QUANTIZED_STEPS if each not in ("calibrate", "gate"))


def in_turn(steps: Sequence[str]) -> Mapping[str, Sequence[Harm]]:
    """Return one harm for each step, each harm at least once."""
    return {step: (HARMS[number % len(HARMS)],) for number, step in enumerate(steps)}


def test_a_build_that_is_harmed_in_every_step_ends_whole(
    make_build: MakeBuild, pair: Pair, build_node: None
) -> None:
    pair.gates.hold(*PLAIN_STEPS)
    build = send(make_build(pool=pair.pool))
    ended = harmed(build, in_turn(PLAIN_STEPS), pair)
    assert_reused(send(make_build(revision=build.revision, pool=pair.pool)), ended)


@pytest.mark.long
@pytest.mark.parametrize(
    "harms",
    [
        pytest.param(in_turn(QUANTIZED_STEPS), id="in turn"),
        pytest.param(dict.fromkeys(QUANTIZED_STEPS, HARMS), id="everything"),
    ],
)
def test_a_quantized_build_that_is_harmed_in_every_step_ends_whole(
    make_build: MakeBuild,
    checkpoint: Path,
    pair: Pair,
    build_node: None,
    harms: Mapping[str, Sequence[Harm]],
) -> None:
    pair.gates.hold(*QUANTIZED_STEPS, SAMPLES_GATE)
    build = send(make_quantized(make_build, checkpoint, pool=pair.pool))
    ended = harmed(build, harms, pair)
    assert_calibrated_and_gated(ended)
    second = send(make_build(revision=build.revision, pool=pair.pool))
    assert_reused(second, ended)
    assert_shown_as_measured(second, ended)


@pytest.fixture
def build_node() -> None:
    """This host's node with a device, which speaks for as long as the test takes."""
    later = clock.now() + timedelta(minutes=15)
    factories.make_device(
        node=factories.make_node(name=settings.NODE_NAME, last_heartbeat_at=later)
    )


def harmed(build: Build, harms: Mapping[str, Sequence[Harm]], pair: Pair) -> Build:
    """Return the build, which has succeeded, once each step was harmed and let go."""
    for step in harms:
        for harm in harms[step]:
            wait_for_step(build, step, pair)
            assert live_claims(build) == (step in STEPS_WITH_DEVICES)
            harm(build, step, pair)
        pair.gates.let_go(step, *([SAMPLES_GATE] if step == "calibrate" else []))
    ended = wait_for_build(build, lambda each: each.finished_at, meanwhile=Sweeper())
    assert (ended.state, ended.failure) == ("succeeded", None)
    assert Artifact.objects.count() == 1
    wait_until_nothing_is_left(build)
    assert not live_claims(build)
    assert "permission denied" not in pair.words()
    return ended


def assert_calibrated_and_gated(build: Build) -> None:
    assert build.artifact is not None
    passport = build.artifact.passport
    assert passport["calibration"]["dataset"] == "enginehouse/general"
    assert passport["calibration"]["revision"].startswith("sha256:")
    assert passport["calibration"]["used"] == 62
    assert passport["gate"] == build.steps.get(name="gate").result
    assert passport["gate"]["state"] == "unmeasured", "a random model guesses"
    engine = build.steps.get(name="smoke_test").result["engine"]
    assert any("FP8 weights of 14 layers" in each for each in engine["emulated"])
    assert "hf_quant_config.json" in {each["path"] for each in build.artifact.files}


def assert_reused(second: Build, first: Build) -> None:
    """The second build of the same inputs takes the first one's artifact."""
    ended = wait_for_build(second, lambda each: each.finished_at)
    assert ended.artifact == first.artifact
    made = {name: state for name, state in steps(second).items() if name not in QUANTIZED_STEPS[:2]}
    assert made == dict.fromkeys(steps(first).keys() - {"fetch", "inspect"}, "reused")


def assert_shown_as_measured(second: Build, first: Build) -> None:
    """The second build shows the gate and the calibration of the first."""
    gates = [each.steps.get(name="gate").result for each in (first, second)]
    assert gates[0] == gates[1]
    calibrated = second.steps.get(name="calibrate").result
    assert calibrated["calibration"]["used"] == 62
