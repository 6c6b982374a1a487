"""A build runs from the queue to its artifact, once."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from apps.accounts.key_ring import key_ring_ensure
from apps.builds.models import Build
from apps.builds.services.requests import build_retry
from apps.configs.models import Revision
from apps.configs.remote_code.services import remote_code_grant
from apps.secrets.services.values import secret_set
from apps.telemetry.logs import log_lines
from controlplane.artifacts import ArtifactStore
from controlplane.domain.failures import Blame, Failure
from tests.remote_code_checkpoint import make_remote_code_checkpoint
from tests.workers.tasks.building import MakeBuild, breaking, make_buildable, steps
from workers.build_steps.child import OutcomeKind, StepCommand, StepOutcome, run_step
from workers.tasks.build import build_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]
QUANTIZED_WITH_SECRET = """    quantization_type: fp8
    quantization_config:
      calib_dataset: enginehouse/general
secrets:
  hf_access_token: null
"""


def run(build: Build) -> Build:
    build_run(build_id=build.id, format=1)
    build.refresh_from_db()
    return build


def said(build: Build, step: str) -> str:
    return "\n".join(line.message for line in log_lines(owners=[f"build:{build.id}:{step}"]))


def test_a_build_ends_with_an_artifact_which_the_next_one_takes_unless_it_was_lost(
    make_build: MakeBuild, data_dir: Path, settings: Settings
) -> None:
    build = run(make_build())
    assert_ended_well(build, data_dir)
    assert f"no node named {settings.NODE_NAME} is enrolled" in said(build, "smoke_test")
    second = run(make_build())
    assert second.artifact == build.artifact
    assert steps(second) == {
        "fetch": "finished",
        "inspect": "finished",
        "package": "reused",
        "smoke_test": "reused",
    }
    shutil.rmtree(data_dir / "artifacts" / "blobs")
    third = run(make_build())
    assert third.artifact == build.artifact
    assert third.reuse["state"] == "lost"
    assert_ended_well(third, data_dir)


def assert_ended_well(build: Build, data_dir: Path) -> None:
    assert (build.state, build.failure) == ("succeeded", None)
    assert set(steps(build).values()) == {"finished"}
    artifact = build.artifact
    assert artifact is not None
    store = ArtifactStore.open((data_dir / "artifacts").as_uri())
    assert store.verify(artifact.content_digest).size_bytes == artifact.size_bytes
    assert artifact.passport["content_digest"] == artifact.content_digest
    assert build.steps.get(name="smoke_test").result["answer"]
    assert not (data_dir / "builds" / build.id).exists()
    assert artifact.content_digest in said(build, "package")
    assert (build.lease_owner, build.lease_secret_sha256, build.lease_expires_at) == ("", "", None)


def test_a_retry_reuses_what_verifies_and_does_the_rest_again(
    make_build: MakeBuild, checkpoint: Path, data_dir: Path
) -> None:
    refused = make_buildable(checkpoint, added="    tensor_parallel_count: 4\n")
    build = run(make_build(revision=refused))
    assert (build.state, build.failure["code"]) == ("failed", "EHB-BLOCKED")
    assert build.failure["blame"] == "configuration"
    assert (steps(build)["fetch"], steps(build)["inspect"]) == ("finished", "failed")
    assert "EHB-BLOCKED" in said(build, "inspect")
    run(build_retry(build=build))
    assert steps(build)["fetch"] == "reused"
    fetched = data_dir / "builds" / build.id / "fetch"
    (fetched / "model" / "config.json").write_text("{}")
    run(build_retry(build=build))
    assert steps(build)["fetch"] == "finished"


@pytest.mark.long  # build_steps/test_remote_code.py
def test_once_the_code_of_a_checkpoint_is_granted_a_retry_makes_every_step_again(
    make_build: MakeBuild, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_remote_code_checkpoint(data_dir / "checkpoints" / "granted", data_dir / "ran")
    # Transformers has the class, so `inspect` passes without the code that `fetch` leaves out.
    config = json.loads((folder / "config.json").read_bytes())
    known = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    (folder / "config.json").write_text(json.dumps(config | known))
    breaking(monkeypatch, "package")
    build = run(make_build(revision=make_buildable(folder)))
    assert steps(build)["inspect"] == "finished", build.failure
    left = build.steps.get(name="fetch").result
    assert left["remote_code_state"] == "left"
    run(build_retry(build=build))
    assert (steps(build)["fetch"], steps(build)["inspect"]) == ("reused", "reused")

    remote_code_grant(
        source="LOCAL", repo=str(folder), commit=left["commit"], reason="read", user=None
    )
    # A worker that is lost before `inspect` leaves the next one nothing to take for new.
    breaking(monkeypatch, "inspect")
    run(build_retry(build=build))
    assert steps(build)["fetch"] == "finished"
    assert build.steps.get(name="fetch").result["remote_code_state"] != "left"
    breaking(monkeypatch, "package")
    run(build_retry(build=build))
    assert (steps(build)["fetch"], steps(build)["inspect"]) == ("reused", "finished")


def test_a_checkpoint_that_is_not_there_fails_with_the_field_to_change(
    make_build: MakeBuild, checkpoint: Path
) -> None:
    build = run(make_build(revision=make_buildable(checkpoint.with_name("gone"))))
    assert (build.state, build.failure["code"]) == ("failed", "EHL-MISSING")
    assert build.failure["field"].startswith("trt_llm.build.checkpoint_repository")
    assert build.failure["hint"]


@pytest.fixture
def secretive(checkpoint: Path, settings: Settings, tmp_path: Path, live_server: Any) -> Revision:
    """A revision that names a secret, and a control plane that hands out secrets."""
    settings.CONTROL_PLANE_URL = live_server.url
    settings.KEY_RING_FILE = tmp_path / "keys" / "secrets.keyring"
    text = "    quantization_type: no_quant\nsecrets:\n  hf_access_token: null\n"
    return make_buildable(checkpoint, added=text)


def test_a_secret_reaches_the_fetch_and_nothing_that_is_kept(
    make_build: MakeBuild,
    secretive: Revision,
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret_set(team=secretive.config.team, name="hf_access_token", value="value-of-the-token")
    commands: list[StepCommand] = []

    def watched(command: StepCommand, **callbacks: Any) -> StepOutcome:
        commands.append(command)
        return run_step(command, **callbacks)

    monkeypatch.setattr("workers.tasks.building.run.run_step", watched)
    # A folder in the store's place keeps the build from its end, and its files in place.
    (data_dir / "artifacts").write_text("")
    build = run(make_build(revision=secretive))
    (data_dir / "artifacts").unlink()
    assert (build.state, len(commands)) == ("failed", 3)
    assert [dict(each.secrets) for each in commands] == [
        {"hf_access_token": "value-of-the-token"},
        {},
        {},
    ]
    kept = [path.read_text() for path in (data_dir / "builds").rglob("*.json")]
    assert len(kept) > 3
    assert not any("value-of-the-token" in each for each in [*kept, repr(commands)])


def test_a_secret_reaches_the_steps_that_read_a_data_set(
    make_build: MakeBuild,
    secretive: Revision,
    checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret_set(team=secretive.config.team, name="hf_access_token", value="value-of-the-token")
    given: dict[str, Mapping[str, str]] = {}

    def watched(command: StepCommand, **callbacks: Any) -> StepOutcome:
        given[command.step] = command.secrets
        if command.step == "calibrate":
            failure = Failure(code="EHX-ENOUGH", blame=Blame.OURS, sentence="Enough was seen.")
            return StepOutcome(kind=OutcomeKind.FAILED, values=None, failure=failure, exit_code=1)
        return run_step(command, **callbacks)

    monkeypatch.setattr("workers.tasks.building.run.run_step", watched)
    quantized = make_buildable(checkpoint, added=QUANTIZED_WITH_SECRET, config=secretive.config)
    build = run(make_build(revision=quantized))
    assert build.failure["code"] == "EHX-ENOUGH"
    token = {"hf_access_token": "value-of-the-token"}
    assert given == {"fetch": token, "inspect": {}, "calibrate": token}


def test_a_secret_that_the_team_lacks_fails_by_name(
    make_build: MakeBuild, secretive: Revision
) -> None:
    build = run(make_build(revision=secretive))
    assert (build.failure["code"], build.failure["field"]) == (
        "EHB-SECRET",
        "secrets.hf_access_token",
    )
    assert "`hf_access_token`" in build.failure["sentence"]


def test_a_secret_under_a_lost_key_fails_the_build_at_once_and_by_name(
    make_build: MakeBuild, secretive: Revision, settings: Settings
) -> None:
    secret_set(team=secretive.config.team, name="hf_access_token", value="value-of-the-token")
    settings.KEY_RING_FILE.unlink()
    key_ring_ensure(settings.KEY_RING_FILE)
    build = run(make_build(revision=secretive))
    assert (build.failure["code"], build.failure["field"]) == (
        "EHB-SECRET-UNREADABLE",
        "secrets.hf_access_token",
    )
    assert build.failure["sentence"].startswith("The secret `hf_access_token` does not open.")
    assert build.failure["hint"].startswith("Store its value anew")


def test_a_control_plane_that_stays_away_is_the_cause(
    make_build: MakeBuild,
    secretive: Revision,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.CONTROL_PLANE_URL = "http://127.0.0.1:1"
    monkeypatch.setattr("workers.tasks.leasing.redeeming.PATIENCE_SECONDS", 0.2)
    build = run(make_build(revision=secretive))
    assert (build.state, build.failure["code"]) == ("failed", "EHB-CONTROL-PLANE")


def test_an_error_of_our_own_ends_the_build_with_that_blame(
    make_build: MakeBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object, **_named: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("workers.tasks.building.run.step_job", broken)
    build = run(make_build())
    assert (build.state, build.failure["code"], build.failure["blame"]) == (
        "failed",
        "EHB-INTERNAL",
        "ours",
    )


@pytest.fixture
def of_nul(checkpoint: Path) -> Revision:
    """A revision whose checkpoint names an architecture that spells a NUL and half a character."""
    odd = checkpoint.with_name("odd")
    shutil.copytree(checkpoint, odd, dirs_exist_ok=True)
    config = json.loads((odd / "config.json").read_text())
    config["architectures"] = ["Odd\0\ud83dForCausalLM"]
    (odd / "config.json").write_text(json.dumps(config))
    return make_buildable(odd)


def test_a_failure_that_spells_a_nul_ends_the_build(
    make_build: MakeBuild, of_nul: Revision
) -> None:
    build = run(make_build(revision=of_nul))
    assert (build.state, build.failure["code"]) == ("failed", "EHS-BAD-FILE")
    assert r"Odd\x00\ud83dForCausalLM" in build.failure["sentence"]
    assert r"Odd\x00\ud83dForCausalLM" in said(build, "inspect")


def test_a_failure_that_the_database_refuses_ends_the_build_without_its_words(
    make_build: MakeBuild, of_nul: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoiled(value: dict[str, Any]) -> dict[str, Any]:
        return {**value, "sentence": "\0"} if value.get("code") == "EHS-BAD-FILE" else value

    monkeypatch.setattr("apps.builds.services.progress.storable", spoiled)
    build = run(make_build(revision=of_nul))
    assert (build.state, build.failure["code"]) == ("failed", "EHB-UNSTORABLE")
    assert build.failure["blame"] == "checkpoint"
