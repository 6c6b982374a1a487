"""Which secret opens a checkpoint for its checks: one that the config lists, and no other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.configs.models import CheckpointRecord
from apps.configs.services.examination import examine_text
from apps.secrets.services.values import secret_set
from tests.apps.configs.records import aged
from tests.factories import Cast, config_text, make_checkpoint_record
from tests.hub_server import HubServer
from tests.tiny_checkpoint import make_tiny_checkpoint
from workers.tasks import facts as facts_task
from workers.tasks.facts import fetch_facts

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("cpu_host", "keepers_stand_still", "sent"),
]


def test_a_secret_is_part_of_what_facts_are_kept_by(cast: Cast) -> None:
    text = config_text() + "secrets: {hf-access-token: null}\n"
    examine_text(team=cast.team, text=text)
    secret_set(team=cast.team, name="hf_access_token", value="hf_new")
    examine_text(team=cast.team, text=text)
    names = CheckpointRecord.objects.values_list("secret_name", flat=True)
    assert sorted(names) == ["", "hf_access_token"]


def test_a_stored_secret_that_the_config_does_not_list_opens_nothing(cast: Cast) -> None:
    secret_set(team=cast.team, name="hf_access_token", value="hf_xxxxxxxx")
    examine_text(team=cast.team, text=config_text())
    assert CheckpointRecord.objects.get().secret_name == ""


@pytest.fixture
def hub(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with HubServer() as server:
        settings.HF_ENDPOINT = server.url
        yield server


def hub_text(repo: str) -> str:
    return config_text(repo).replace("source: LOCAL", "source: HF")


def codes_of(cast: Cast, text: str) -> set[str]:
    content = examine_text(team=cast.team, text=text).to_json()
    return {finding["code"] for finding in content["findings"]}


def test_a_placeholder_of_a_token_breaks_no_config_of_a_public_checkpoint(
    cast: Cast, hub: HubServer, tiny_checkpoint: Path
) -> None:
    hub.add("org/tiny", tiny_checkpoint)
    secret_set(team=cast.team, name="hf_access_token", value="hf_xxxxxxxx")
    codes_of(cast, hub_text("org/tiny"))
    fetch_facts(CheckpointRecord.objects.get().id)
    assert "EH801" not in codes_of(cast, hub_text("org/tiny"))


def test_a_gated_checkpoint_is_opened_by_listing_the_stored_token(
    cast: Cast, hub: HubServer, tiny_checkpoint: Path
) -> None:
    hub.add("org/tiny", tiny_checkpoint, gated=True, readers={"hf_good"})
    secret_set(team=cast.team, name="hf_access_token", value="hf_good")
    codes_of(cast, hub_text("org/tiny"))
    fetch_facts(CheckpointRecord.objects.get().id)
    findings = examine_text(team=cast.team, text=hub_text("org/tiny")).to_json()["findings"]
    unlisted = next(each for each in findings if each["code"] == "EH802")
    assert unlisted["fix"]["patch"] == {"secrets": {"hf_access_token": None}}
    assert codes_of(cast, hub_text("org/tiny") + "secrets: {hf_access_token: null}\n") == set()


def test_a_check_after_the_cause_was_mended_waits_for_the_new_answer(
    cast: Cast, data_dir: Path
) -> None:
    folder = data_dir / "checkpoints" / "mended"
    text = config_text(str(folder))
    examine_text(team=cast.team, text=text)
    record = CheckpointRecord.objects.get()
    fetch_facts(record.id)
    assert "EH801" in codes_of(cast, text)
    make_tiny_checkpoint(folder)
    aged(record, seconds=90)
    content = examine_text(team=cast.team, text=text).to_json()
    assert any("checkpoint" in waiting["facts"] for waiting in content["waiting"])
    assert "EH801" not in {finding["code"] for finding in content["findings"]}
    fetch_facts(record.id)
    assert not examine_text(team=cast.team, text=text).blocks_build


@pytest.mark.parametrize("value", ["hf_gehe\u00efm", "hf_two words", "hf_two\nlines"])
def test_a_secret_that_is_no_token_is_named_and_crashes_nothing(
    cast: Cast, hub: HubServer, tiny_checkpoint: Path, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("org/tiny", tiny_checkpoint)
    monkeypatch.setattr(facts_task, "redeem_secrets", lambda _keeper: {"hf_access_token": value})
    record = make_checkpoint_record(
        team=cast.team, source="HF", repo="org/tiny", secret_name="hf_access_token"
    )
    fetch_facts(record.id)
    record.refresh_from_db()
    assert record.failure["code"] == "EHF-TOKEN"
    assert "The secret `hf_access_token` holds no token" in record.failure["sentence"]
    assert value not in str(record.failure)
