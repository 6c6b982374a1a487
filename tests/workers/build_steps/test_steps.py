"""The steps as real children, each on the published output of the one before."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactStore, describe
from controlplane.domain.passport import Passport
from tests.gates import Gates
from tests.hub_server import HubServer, Trouble
from tests.small_disks import small_files
from tests.workers.build_steps.supervising import (
    Packaged,
    Supervisor,
    finished,
    run,
    spec_of,
)
from workers.build_steps import outputs
from workers.build_steps.child import OutcomeKind, Verdict

pytestmark = pytest.mark.process

SECRET = "hf_ThisIsTheSecretValue0123456789"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server


def test_a_checkpoint_is_fetched_inspected_and_packaged(supervisor: Supervisor, tiny: Path) -> None:
    supervisor.options = {"built_by": "ada@example.com", "built_at": "2026-11-28T10:00:00Z"}
    spec = spec_of(str(tiny))
    fetched = finished(supervisor, "fetch", spec)
    assert outputs.verify(fetched)
    assert describe(fetched / "model") == describe(tiny)

    inspected = finished(supervisor, "inspect", spec, fetch=fetched)
    checkpoint = outputs.read(inspected).values["checkpoint"]
    assert checkpoint["weight_bytes"] == 4 * checkpoint["parameters"]
    assert checkpoint["commit"] == outputs.read(fetched).values["commit"]

    packaged = finished(supervisor, "package", spec, fetch=fetched, inspect=inspected)
    values = outputs.read(packaged).values
    passport = values["passport"]
    store = ArtifactStore.open((supervisor.folder / "artifacts").as_uri())
    assert store.passport(values["content_digest"]) == passport
    assert store.verify(values["content_digest"]).files == describe(tiny)
    assert passport["content_digest"] == values["content_digest"]
    assert passport["input_digest"] == values["input_digest"]
    assert passport["checkpoint"]["commit"] == checkpoint["commit"]
    assert passport["spec"] == spec
    assert passport["gate"] == "unmeasured"
    assert passport["tools"]["torch"]
    assert Passport.model_validate(passport).checkpoint.commit == checkpoint["commit"]
    assert passport["tools"]["python"]
    assert passport["built"]["by"] == "ada@example.com"
    assert [each["path"] for each in passport["files"]] == [each.path for each in describe(tiny)]
    # The fetched folder, the store and the passport agree also after links were made.
    assert outputs.verify(fetched)


def test_a_gated_repository_opens_with_the_secret_and_the_log_does_not_tell_it(
    supervisor: Supervisor, tiny: Path, hub: HubServer
) -> None:
    commit = hub.add("org/tiny", tiny, gated=True, readers={SECRET})
    supervisor.options = {"hf_endpoint": hub.url, "cache_dir": str(supervisor.folder / "cache")}
    job = supervisor.job("fetch", spec_of("org/tiny", "HF"))
    refused = supervisor.run(supervisor.command("fetch", job))
    assert refused.failure is not None
    assert refused.failure.code == "EHF-GATED"
    outcome = supervisor.run(supervisor.command("fetch", job, secrets={"hf_access_token": SECRET}))
    assert outcome.kind is OutcomeKind.FINISHED, supervisor.log.decode()
    assert outcome.values is not None
    assert outcome.values["commit"] == commit
    assert SECRET.encode() not in supervisor.log
    assert not any(
        SECRET.encode() in path.read_bytes()
        for path in supervisor.folder.rglob("*")
        if path.is_file()
    )


def test_a_pinned_commit_is_fetched_though_the_branch_has_moved(
    supervisor: Supervisor, tiny: Path, hub: HubServer
) -> None:
    commit = hub.add("org/tiny", tiny)
    hub.add("org/tiny", {"config.json": b"{}", "model.safetensors": b"other"})
    supervisor.options = {"hf_endpoint": hub.url, "commit": commit}
    fetched = finished(supervisor, "fetch", spec_of("org/tiny", "HF"))
    assert describe(fetched / "model") == describe(tiny)


def test_a_fetch_that_is_cancelled_goes_on_where_it_stopped(
    supervisor: Supervisor, tiny: Path, hub: HubServer
) -> None:
    hub.add("org/tiny", tiny)
    supervisor.options = {"hf_endpoint": hub.url, "cache_dir": str(supervisor.folder / "cache")}
    job = supervisor.job("fetch", spec_of("org/tiny", "HF"))
    hub.trouble("model.safetensors", Trouble(break_after=200_000, times=1, stall=True))

    def cancel_in_the_middle() -> Verdict:
        partial = list((supervisor.folder / "cache").rglob("model.safetensors.partial"))
        there = bool(partial) and partial[0].stat().st_size == 200_000
        return Verdict.CANCEL if there else Verdict.CONTINUE

    outcome = supervisor.run(supervisor.command("fetch", job), cancel_in_the_middle)
    assert outcome.kind is OutcomeKind.CANCELLED
    hub.troubles.clear()
    assert supervisor.run(supervisor.command("fetch", job)).kind is OutcomeKind.FINISHED
    assert hub.asked_for("model.safetensors")[-1].range == "bytes=200000-"


def test_a_config_that_the_files_contradict_is_blocked_with_every_reason(
    supervisor: Supervisor, tiny: Path
) -> None:
    spec = spec_of(str(tiny), max_seq_len=1_000_000)
    fetched = finished(supervisor, "fetch", spec)
    outcome = run(supervisor, "inspect", spec, fetch=fetched)
    assert outcome.kind is OutcomeKind.FAILED, supervisor.log.decode()
    assert outcome.failure is not None
    assert outcome.failure.code == "EHB-BLOCKED"
    assert outcome.failure.blame == "configuration"
    assert (outcome.failure.field or "").endswith("max_seq_len")
    assert "EH" in (outcome.failure.detail or "")


def test_a_fetched_file_that_changed_on_disk_is_not_packaged(
    supervisor: Supervisor, packaged: Packaged
) -> None:
    spec, inspected = packaged.spec, packaged.folders["inspect"]
    fetched = supervisor.folder / "fetched"
    shutil.copytree(packaged.folders["fetch"], fetched)
    (fetched / "model" / "generation_config.json").write_text("{}")
    assert not outputs.verify(fetched)
    outcome = run(supervisor, "package", spec, fetch=fetched, inspect=inspected)
    assert outcome.failure is not None
    assert outcome.failure.code == "EHB-OUTPUT-CHANGED"
    assert "generation_config.json" in outcome.failure.sentence
    assert not list((supervisor.folder / "artifacts").rglob("*.json"))


def test_what_a_killed_try_left_is_not_sealed_into_the_next(
    supervisor: Supervisor, tiny: Path
) -> None:
    left = supervisor.folder / "tmp" / "fetch" / "model"
    left.mkdir(parents=True)
    (left / "half-written.json").write_text("{")
    fetched = finished(supervisor, "fetch", spec_of(str(tiny)))
    assert describe(fetched / "model") == describe(tiny)


def test_a_full_disk_in_a_step_is_said_and_nothing_is_sealed(
    supervisor: Supervisor, tiny: Path
) -> None:
    job = supervisor.job("fetch", spec_of(str(tiny)))
    with small_files(100_000):
        outcome = supervisor.run(supervisor.command("fetch", job))
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.failure is not None
    assert outcome.failure.code == "EHL-DISK-FULL"
    assert outcome.failure.blame == "machine"
    assert not outputs.verify(supervisor.folder / "tmp" / "fetch")


def test_a_step_stands_at_its_gate_after_its_first_progress_and_before_its_work(
    supervisor: Supervisor, tiny: Path, gates: Gates
) -> None:
    gates.hold("fetch")
    job = supervisor.job("fetch", spec_of(str(tiny)))
    began: list[bool] = []

    def let_go_once_it_stands() -> Verdict:
        if gates.came("fetch") and supervisor.progress and not began:
            began.append((supervisor.folder / "tmp" / "fetch").exists())
            gates.let_go("fetch")
        return Verdict.CONTINUE

    command = supervisor.command("fetch", job, environment=gates.environment)
    outcome = supervisor.run(command, let_go_once_it_stands)
    assert outcome.kind is OutcomeKind.FINISHED, supervisor.log.decode()
    assert supervisor.progress[0].done == 0
    assert began == [False]
