"""The last step: it starts a real engine on the published artifact."""

import shutil
import signal
from pathlib import Path

import pytest

from controlplane.domain.failures import Blame
from tests.workers.build_steps.supervising import Packaged, Supervisor
from workers.build_steps import outputs
from workers.build_steps.child import OutcomeKind, StepOutcome, Verdict
from workers.build_steps.processes import send

pytestmark = pytest.mark.process


def with_fake_engine(
    supervisor: Supervisor, packaged: Packaged, body: str, **options: float
) -> StepOutcome:
    """Run the step with a script where the engine's interpreter would be."""
    engine = supervisor.folder / "engine.sh"
    engine.write_text(f"#!/bin/bash\n{body}\n")
    engine.chmod(0o755)
    supervisor.options |= options
    job = packaged.smoke_test_job(supervisor, python=str(engine))
    outcome = supervisor.run(supervisor.command("smoke_test", job))
    assert supervisor.marked() == []
    return outcome


@pytest.mark.engine
def test_the_published_artifact_answers_and_reports(
    supervisor: Supervisor, packaged: Packaged
) -> None:
    job = packaged.smoke_test_job(supervisor)
    outcome = supervisor.run(supervisor.command("smoke_test", job))
    assert outcome.kind is OutcomeKind.FINISHED, supervisor.log.decode()
    values = outcome.values
    assert values is not None
    assert isinstance(values["answer"], str)
    assert values["question"]
    assert values["finish_reason"] in ("stop", "length")
    assert values["max_tokens"] == 16
    assert values["first_token_seconds"] > 0
    assert values["tokens_per_second"] > 0
    assert values["engine"]["weights_bytes"] > 0
    assert outputs.verify(supervisor.folder / "tmp" / "smoke_test")
    assert not (supervisor.folder / "tmp" / "smoke_test" / "model").exists()
    assert supervisor.marked() == []


@pytest.mark.engine
def test_cancel_stops_the_engine_too(supervisor: Supervisor, packaged: Packaged) -> None:
    outcome = supervisor.run(
        supervisor.command("smoke_test", packaged.smoke_test_job(supervisor)),
        lambda: Verdict.CANCEL if len(supervisor.marked()) == 2 else Verdict.CONTINUE,
    )
    assert outcome.kind is OutcomeKind.CANCELLED
    assert supervisor.marked() == []


def test_an_engine_that_ends_with_known_words_is_explained(
    supervisor: Supervisor, packaged: Packaged
) -> None:
    body = 'echo "DefaultCPUAllocator: can\'t allocate memory"; exit 1'
    failure = with_fake_engine(supervisor, packaged, body).failure
    assert failure is not None
    assert failure.code == "ENG-OUT-OF-MEMORY"
    assert failure.blame is Blame.MACHINE


def test_an_engine_that_ends_without_words_shows_its_last_lines(
    supervisor: Supervisor, packaged: Packaged
) -> None:
    failure = with_fake_engine(supervisor, packaged, "echo something odd; exit 3").failure
    assert failure is not None
    assert failure.sentence.startswith("The engine ended with status 3")
    assert "something odd" in (failure.detail or "")
    assert b"something odd" in supervisor.log


def test_an_engine_that_never_gets_ready_is_given_up(
    supervisor: Supervisor, packaged: Packaged
) -> None:
    body = "exec sleep 600"
    failure = with_fake_engine(supervisor, packaged, body, engine_start_seconds=0.001).failure
    assert failure is not None
    assert failure.code == "EHB-ENGINE-SLOW"


def test_a_damaged_artifact_is_not_started(supervisor: Supervisor, packaged: Packaged) -> None:
    store = Path(packaged.artifact_url.removeprefix("file://"))
    shutil.copytree(store, supervisor.folder / "artifacts")
    manifest = outputs.read(packaged.folders["package"]).values["manifest"]
    weights = next(each for each in manifest if each["path"] == "model.safetensors")["sha256"]
    blob = supervisor.folder / "artifacts/blobs/sha256" / weights[:2] / weights
    blob.chmod(0o644)
    blob.write_bytes(b"damaged")
    damaged = Packaged(packaged.spec, packaged.folders, (supervisor.folder / "artifacts").as_uri())
    outcome = with_fake_engine(supervisor, damaged, "echo started")
    assert outcome.failure is not None
    assert outcome.failure.code == "EHA-CORRUPT"
    assert b"started" not in supervisor.log


@pytest.mark.engine
def test_a_killed_engine_fails_the_step_by_name(supervisor: Supervisor, packaged: Packaged) -> None:
    def kill_the_engine() -> Verdict:
        marked = supervisor.marked()
        for each in marked:
            if any(each.parent == other.pid for other in marked):
                send(each, signal.SIGKILL)
        return Verdict.CONTINUE

    job = packaged.smoke_test_job(supervisor)
    outcome = supervisor.run(supervisor.command("smoke_test", job), kill_the_engine)
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.failure is not None
    assert outcome.failure.code == "EHB-KILLED"
    assert outcome.failure.sentence.startswith("The engine was killed")


@pytest.mark.engine
def test_a_killed_step_takes_its_engine_with_it(supervisor: Supervisor, packaged: Packaged) -> None:
    def kill_the_step() -> Verdict:
        marked = supervisor.marked()
        if len(marked) == 2:
            parents = {each.parent for each in marked}
            send(next(each for each in marked if each.pid in parents), signal.SIGKILL)
        return Verdict.CONTINUE

    job = packaged.smoke_test_job(supervisor)
    outcome = supervisor.run(supervisor.command("smoke_test", job), kill_the_step)
    assert outcome.kind is OutcomeKind.CRASHED
    assert supervisor.marked() == []
