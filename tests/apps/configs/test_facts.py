"""Facts of checkpoints: read once in the background, healed, retried, and never by two at once."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from apps.configs.leasing import FACTS
from apps.configs.models import CheckpointRecord, FactsState, Revision
from apps.configs.selectors import config_list
from apps.configs.services import configs as configs_module
from apps.configs.services.configs import config_create, revision_create
from apps.configs.services.examination import examine_text, revision_examine
from apps.configs.services.facts import facts_finish, facts_request, facts_to_read
from apps.leases.redeeming import lease_redeem
from apps.leases.services import lease_claim
from apps.leases.sweeping import leases_sweep
from apps.secrets.services.values import secret_set
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.spec import CheckpointRepository
from tests.apps.configs.records import aged
from tests.bucket_server import BucketServer
from tests.factories import Cast, config_text, make_checkpoint_record, make_team
from tests.tiny_checkpoint import make_tiny_checkpoint
from workers.tasks.facts import fetch_facts

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("cpu_host", "keepers_stand_still", "sent"),
]

FAILURE = Failure(code="EHF-OFFLINE", blame=Blame.MACHINE, sentence="The hub did not answer.")


def request_again(record: CheckpointRecord) -> CheckpointRecord:
    checkpoint = CheckpointRepository.model_validate(
        {"source": record.source, "repo": record.repo, "revision": record.revision or None}
    )
    return facts_request(team=record.team, checkpoint=checkpoint, secret=record.secret_name)


def test_a_revision_heals_once_the_facts_arrive(
    cast: Cast, tiny_checkpoint: Path, sent: list[str]
) -> None:
    config = config_create(team=cast.team, name="tiny", text=config_text(str(tiny_checkpoint)))
    revision = config.revisions.get()
    assert revision.blocks_build
    assert revision.waiting
    assert revision_examine(revision=revision).blocks_build
    record = CheckpointRecord.objects.get()
    assert sent == [record.id]
    fetch_facts(record.id)
    record.refresh_from_db()
    assert record.state == FactsState.READY, record.failure
    assert record.commit
    examination = revision_examine(revision=revision)
    assert not examination.blocks_build, examination.to_json()
    assert examination.plan is not None
    revision.refresh_from_db()
    assert not revision.blocks_build
    assert not revision.waiting
    assert revision.plan == examination.to_json()["plan"]
    assert config_list(team=cast.team).get().last_blocks_build is False


def test_only_the_last_revisions_of_that_checkpoint_are_said_anew(
    cast: Cast, tiny_checkpoint: Path
) -> None:
    text = config_text(str(tiny_checkpoint))
    config = config_create(team=cast.team, name="tiny", text=text)
    last = revision_create(config=config, text=text + "# again\n")
    other = config_create(team=cast.team, name="other", text=config_text("/elsewhere"))
    theirs = config_create(team=cast.outsider.team, name="theirs", text=text)
    fetch_facts(CheckpointRecord.objects.get(team=cast.team, repo=str(tiny_checkpoint)).id)
    assert not config.revisions.get(number=last.number).waiting
    for waiting in (config.revisions.get(number=1), other.revisions.get(), theirs.revisions.get()):
        assert waiting.waiting


def test_a_checkpoint_that_could_not_be_read_is_stored_with_the_revision(
    cast: Cast, data_dir: Path
) -> None:
    text = config_text(str(data_dir / "checkpoints" / "nothing-here"))
    config = config_create(team=cast.team, name="gone", text=text)
    fetch_facts(CheckpointRecord.objects.get().id)
    revision = config.revisions.get()
    assert revision.blocks_build
    assert not any("checkpoint" in waiting["facts"] for waiting in revision.waiting)
    assert any("nothing-here" in finding["message"] for finding in revision.findings)


def test_facts_that_arrive_before_the_save_are_not_missed(
    cast: Cast, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = configs_module._store

    def store_late(*arguments: Any) -> Revision:
        fetch_facts(CheckpointRecord.objects.get().id)
        return store(*arguments)

    monkeypatch.setattr(configs_module, "_store", store_late)
    config = config_create(team=cast.team, name="tiny", text=config_text(str(tiny_checkpoint)))
    assert not config.revisions.get().blocks_build


def test_a_checkpoint_that_cannot_be_read_is_a_finding_with_its_cause(
    cast: Cast, data_dir: Path
) -> None:
    text = config_text(str(data_dir / "checkpoints" / "nothing-here"))
    examine_text(team=cast.team, text=text)
    fetch_facts(CheckpointRecord.objects.get().id)
    assert CheckpointRecord.objects.get().failure["code"] == "EHL-MISSING"
    content = examine_text(team=cast.team, text=text).to_json()
    assert content["blocks_build"]
    assert not any("checkpoint" in waiting["facts"] for waiting in content["waiting"])
    assert any("nothing-here" in finding["message"] for finding in content["findings"])


def test_files_that_break_the_reader_end_as_a_failure(cast: Cast, data_dir: Path) -> None:
    folder = data_dir / "checkpoints" / "broken"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text('{"architectures": 5, "num_hidden_layers": "many"}')
    (folder / "model.safetensors").write_bytes(b"\xff" * 64)
    record = make_checkpoint_record(team=cast.team, repo=str(folder))
    fetch_facts(record.id)
    record.refresh_from_db()
    assert record.state == FactsState.FAILED
    assert record.failure["sentence"]


def test_teams_do_not_share_what_they_know(cast: Cast, tiny_checkpoint: Path) -> None:
    text = config_text(str(tiny_checkpoint))
    examine_text(team=cast.team, text=text)
    fetch_facts(CheckpointRecord.objects.get().id)
    assert not examine_text(team=cast.team, text=text).blocks_build
    assert examine_text(team=cast.outsider.team, text=text).blocks_build


def test_asking_twice_sends_once(sent: list[str]) -> None:
    checkpoint = CheckpointRepository.model_validate({"source": "LOCAL", "repo": "/a"})
    team = make_team()
    first = facts_request(team=team, checkpoint=checkpoint, secret="")
    assert facts_request(team=team, checkpoint=checkpoint, secret="") == first
    assert sent == [first.id]


def test_a_result_after_the_lease_is_dropped() -> None:
    record = make_checkpoint_record()
    late = lease_claim(kind=FACTS, id=record.id)
    CheckpointRecord.objects.update(lease_expires_at=None)
    lease = lease_claim(kind=FACTS, id=record.id)
    assert late is not None
    assert lease is not None
    assert not facts_finish(lease=late, read=FAILURE)
    assert facts_finish(lease=lease, read=FAILURE)
    assert lease_claim(kind=FACTS, id=record.id) is None


@pytest.mark.parametrize(
    ("state", "age", "is_due"),
    [
        (FactsState.FAILED, {"seconds": 30}, False),
        (FactsState.FAILED, {"seconds": 90}, True),
        (FactsState.READY, {"minutes": 30}, False),
        (FactsState.READY, {"minutes": 90}, True),
    ],
)
def test_failures_are_retried_and_old_facts_refreshed_while_they_still_show(
    sent: list[str], state: str, age: dict[str, float], is_due: bool
) -> None:
    record = make_checkpoint_record(state=state, revision="main", commit="abc")
    aged(record, **age)
    assert request_again(record).state == state
    assert sent == ([record.id] if is_due else [])
    assert (lease_claim(kind=FACTS, id=record.id) is not None) == is_due


def test_facts_of_a_pinned_commit_never_grow_old(sent: list[str]) -> None:
    record = make_checkpoint_record(state=FactsState.READY, revision="abc", commit="abc")
    aged(record, days=5)
    request_again(record)
    assert sent == []


def test_a_new_value_of_the_secret_is_tried_at_once(sent: list[str]) -> None:
    record = make_checkpoint_record(state=FactsState.FAILED, secret_name="hf_access_token")
    aged(record, seconds=5)
    secret_set(team=record.team, name="hf-access-token", value="hf_new")
    request_again(record)
    assert sent == [record.id]


def test_the_sweep_forgets_what_nobody_asks_for() -> None:
    fresh, old = make_checkpoint_record(), make_checkpoint_record()
    aged(old, days=31)
    leases_sweep(FACTS)
    assert CheckpointRecord.objects.get() == fresh


def test_a_live_lease_redeems_its_one_secret() -> None:
    team = make_team()
    secret_set(team=team, name="hf_access_token", value="hf_Canary")
    secret_set(team=team, name="other", value="never")
    record = make_checkpoint_record(team=team, secret_name="hf_access_token")
    lease = lease_claim(kind=FACTS, id=record.id)
    assert lease is not None
    values = {"name": "facts", "id": lease.id, "token": lease.token, "secret": lease.secret}
    assert lease_redeem(**values) == {"hf_access_token": "hf_Canary"}
    facts_finish(lease=lease, read=FAILURE)
    assert lease_redeem(**values) is None


@pytest.mark.django_db(transaction=True)
def test_a_control_plane_that_is_away_is_the_failure(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.tasks.leasing.redeeming.PATIENCE_SECONDS", 0.0)
    settings.CONTROL_PLANE_URL = "http://127.0.0.1:9"
    record = make_checkpoint_record(secret_name="hf_access_token")
    fetch_facts(record.id)
    record.refresh_from_db()
    assert record.failure["code"] == "EHS-SECRET"


def test_a_repository_name_past_all_bounds_is_a_finding_not_an_error(cast: Cast) -> None:
    content = examine_text(team=cast.team, text=config_text("/" + "a" * 600)).to_json()
    assert any("more than 512 characters" in finding["message"] for finding in content["findings"])


def test_a_signed_address_of_an_archive_may_be_long(cast: Cast) -> None:
    url = "https://example.com/llama.tar.gz?X-Amz-Signature=" + "0" * 1500
    text = config_text(url).replace("LOCAL", "REMOTE_URL")
    codes = {
        finding["code"] for finding in examine_text(team=cast.team, text=text).to_json()["findings"]
    }
    assert codes == {"EH813"}
    assert CheckpointRecord.objects.get().repo == url
    content = examine_text(team=cast.team, text=text.replace("0" * 1500, "0" * 2500)).to_json()
    assert any("more than 2000 characters" in finding["message"] for finding in content["findings"])


def test_facts_of_a_bucket_are_read_where_the_operator_says(settings: Any, tmp_path: Path) -> None:
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    with BucketServer("S3") as server:
        server.public.add("weights")
        server.put_files("weights", "tiny", {p.name: p.read_bytes() for p in folder.iterdir()})
        settings.S3_ENDPOINT = server.endpoint
        record = make_checkpoint_record(source="S3", repo="s3://weights/tiny")
        fetch_facts(record.id)
    record.refresh_from_db()
    assert record.state == FactsState.READY, record.failure
    assert record.commit.startswith("listing-")


def test_what_is_read_is_opened_with_the_secret_of_the_record() -> None:
    facts = facts_to_read(facts_id=make_checkpoint_record(secret_name="aws_login").id)
    assert facts.needs_secret
    assert facts.checkpoint.runtime_secret_name == "aws_login"


def test_a_file_whose_name_is_no_text_ends_the_checks_in_words(
    cast: Cast, data_dir: Path, sent: list[str]
) -> None:
    folder = make_tiny_checkpoint(data_dir / "checkpoints" / "odd-name")
    Path(os.fsdecode(os.fsencode(folder) + b"/notes-\xff.txt")).touch()
    failure = failure_of(cast, folder)
    assert (failure["code"], failure["blame"]) == ("EHL-NAME", "checkpoint")
    assert r"`notes-\xff.txt`" in failure["sentence"]


@pytest.mark.parametrize("text", ["Llama\0ForCausalLM", "Llama\ud800"])
def test_text_that_the_database_refuses_is_refused_where_it_is_read(
    cast: Cast, data_dir: Path, text: str
) -> None:
    folder = make_tiny_checkpoint(data_dir / "checkpoints" / f"odd-text-{len(text)}")
    config = json.loads((folder / "config.json").read_bytes()) | {"architectures": [text]}
    (folder / "config.json").write_text(json.dumps(config))
    failure = failure_of(cast, folder)
    assert (failure["code"], failure["blame"]) == ("EHS-BAD-FILE", "checkpoint")


def failure_of(cast: Cast, folder: Path) -> dict[str, Any]:
    """Check a config with the checkpoint, and return why its files are refused."""
    text = config_text(str(folder))
    examine_text(team=cast.team, text=text)
    record = CheckpointRecord.objects.get()
    fetch_facts(record.id)
    record.refresh_from_db()
    assert record.state == FactsState.FAILED
    failure = record.failure
    assert failure is not None
    findings = examine_text(team=cast.team, text=text).to_json()["findings"]
    assert any(failure["sentence"] in each["message"] for each in findings)
    assert leases_sweep(FACTS).sent == 0
    return failure


def test_facts_whose_reading_never_ends_are_given_up_and_read_again_when_asked_for(
    cast: Cast, tiny_checkpoint: Path
) -> None:
    text = config_text(str(tiny_checkpoint))
    examine_text(team=cast.team, text=text)
    record = CheckpointRecord.objects.get()
    for _ in range(5):
        assert lease_claim(kind=FACTS, id=record.id) is not None
        CheckpointRecord.objects.update(lease_expires_at=None)
    assert lease_claim(kind=FACTS, id=record.id) is None
    assert leases_sweep(FACTS).given_up == 1
    record.refresh_from_db()
    assert record.failure is not None
    assert record.failure["code"] == "EHS-GIVEN-UP"
    assert "never ended" in str(examine_text(team=cast.team, text=text).to_json())
    aged(record, minutes=2)
    request_again(record)
    assert lease_claim(kind=FACTS, id=record.id) is not None
