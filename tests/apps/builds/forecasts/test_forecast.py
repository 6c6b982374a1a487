"""What a build will take, from the team's rows, and how it is told on pages and over REST."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command
from time_machine import TimeMachineFixture

from apps.builds.forecasts.forecast import forecast_of_revision
from apps.builds.models import Build, BuildStep
from apps.builds.services.requests import build_create
from apps.configs.services.configs import config_create
from controlplane import clock
from controlplane.domain.lifecycle import BuildState, StepState
from controlplane.management.reading import read_checkpoint
from tests import factories
from tests.apps.builds.stage import make_forecast, make_passported, make_told_build
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.domain.test_plan_memory import LLAMA_8B

if TYPE_CHECKING:
    from apps.configs.models import Revision
    from tests.factories import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
MOMENT = datetime(2026, 11, 27, 12, tzinfo=UTC)
GIB = 1024**3
ON_A_GPU = """\
model_name: large
resources: {accelerator: H100}
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository: {source: LOCAL, repo: /checkpoints/tiny}
    max_seq_len: 8192
    quantization_type: fp8
"""


def test_a_build_keeps_the_forecast_it_was_made_with(revision: "Revision", cast: "Cast") -> None:
    build = build_create(revision=revision, user=cast.owner)
    told = build.forecast
    assert told["absent"] is None
    assert told["device"] == {"kind": "CPU", "count": 1}
    assert told["device_absent"] == "it runs on the CPU"
    assert [each["name"] for each in told["steps"]] == ["fetch", "inspect", "package", "smoke_test"]
    assert told["seconds"]["basis"] == "formula"
    assert told["disk"]["download_bytes"] == 0
    assert told["cached"]["checkpoint"]["words"] == "A folder of the worker: nothing is downloaded."
    assert (told["queue"]["waiting"], told["queue"]["running"]) == (0, 0)


def test_a_build_has_one_time_on_the_page_over_rest_and_on_the_command_line(
    cast: "Cast", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, folder = tmp_path / "config.yaml", tmp_path / "config.json"
    config.write_text(ON_A_GPU)
    folder.write_text(json.dumps(LLAMA_8B))
    factories.make_device(node=factories.make_node(), kind="H100", memory_bytes=80 * GIB)
    factories.make_checkpoint_record(
        team=cast.team, state="ready", facts=read_checkpoint(folder).model_dump(mode="json"),
        fetched_at=clock.now(),
    )  # fmt: skip
    made = config_create(team=cast.team, name="large", text=ON_A_GPU, user=cast.owner)
    _, over_rest = client_of(cast.owner).get(f"/v1/configs/{made.id}/revisions/1/forecast")
    with pytest.raises(SystemExit):
        call_command("plan_memory", str(config), "--facts", str(folder), "--format", "json")
    told = json.loads(capsys.readouterr().out)
    assert told["forecast"]["seconds"] == over_rest["seconds"]
    assert "minutes" not in told["builder"]
    page = signed_in(cast.owner).get(f"/configs/{made.id}/revisions/1/").content.decode()
    assert "The build takes 1 GPU." in page
    assert " minutes" not in page


def test_measured_builds_of_the_same_kind_come_before_the_formula(
    revision: "Revision", cast: "Cast"
) -> None:
    earlier = factories.make_build(revision=revision)
    measured = {
        "seconds": 3.5, "host": "node-1", "peak_host_bytes": 2 * GIB, "peak_device_bytes": None,
        "device_bytes_from": None, "disk_bytes": 1000,
    }  # fmt: skip
    BuildStep.objects.filter(build=earlier, name="smoke_test").update(
        state=StepState.FINISHED, finished_at=clock.now(), measured=measured
    )
    told = forecast_of_revision(revision).to_json()
    step = told["steps"][-1]
    assert step["seconds"]["basis"] == step["host_bytes"]["basis"] == "measured"
    assert (step["seconds"]["low"], step["seconds"]["builds"]) == (3.5, 1)
    assert told["steps"][0]["seconds"]["basis"] == "formula"


def test_the_queue_counts_every_team_in_the_pool_and_nobody_elses_pool(
    revision: "Revision", cast: "Cast", time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to(MOMENT, tick=False)
    started = MOMENT - timedelta(seconds=15)
    factories.make_build(state=BuildState.PACKAGING, started_at=started, forecast=make_forecast())
    factories.make_build(forecast=make_forecast())
    factories.make_build(pool="other")
    queue = forecast_of_revision(revision).to_json()["queue"]
    assert (queue["waiting"], queue["running"]) == (1, 1)
    # 40 s of the one that waits, and 25 s of the one that runs.
    assert queue["low_seconds"] == 65


def test_what_is_not_known_of_the_checkpoint_is_said(cast: "Cast") -> None:
    unread = factories.make_revision(team=cast.team, repo="/checkpoints/unread")
    told = forecast_of_revision(unread).to_json()
    assert told["absent"] == "The checkpoint's files are still being read."
    assert "seconds" not in told


def test_an_artifact_of_the_same_commit_and_config_is_named(
    revision: "Revision", cast: "Cast"
) -> None:
    inputs = {"commit": "c0ffee", "spec": revision.spec, "tool_versions": {"torch": "2.13.0"}}
    known = factories.make_artifact(team=cast.team, inputs=inputs)
    factories.make_artifact(team=cast.team, inputs=inputs | {"commit": "another"})
    factories.make_artifact(inputs=inputs)
    found = forecast_of_revision(revision).to_json()["cached"]["artifact"]
    assert found["id"] == known.id
    page = signed_in(cast.owner).get(f"/builds/forecast/{revision.config_id}/{revision.number}/")
    assert f"/artifacts/{known.id}/" in page.content.decode()
    assert "takes no time" in page.content.decode()


def test_pages_show_the_forecast_of_a_draft_and_of_a_revision(
    revision: "Revision", cast: "Cast"
) -> None:
    owner, outsider = signed_in(cast.owner), signed_in(cast.outsider)
    draft = owner.post("/builds/forecast/", {"text": revision.text, "view": "yaml", "base": "0"})
    saved = f"/builds/forecast/{revision.config_id}/{revision.number}/"
    for answer in (draft, owner.get(saved)):
        words = answer.content.decode()
        assert answer.status_code == 200, words
        assert "Host memory at its peak" in words
        assert "it runs on the CPU" in words
        assert "Nothing is before it in pool <code>default</code>." in words
    assert outsider.get(saved).status_code == 404
    assert owner.post("/builds/forecast/", {"text": "a: [", "base": "0"}).content == b""
    editor = owner.get(f"/configs/{revision.config_id}/").content.decode()
    assert 'hx-post="/builds/forecast/"' in editor
    assert (
        saved
        in owner.get(f"/configs/{revision.config_id}/revisions/{revision.number}/").content.decode()
    )


def test_rest_tells_the_forecast_before_and_the_outcome_after(
    revision: "Revision", cast: "Cast"
) -> None:
    client = client_of(cast.owner)
    path = f"/v1/configs/{revision.config_id}/revisions/{revision.number}/forecast"
    told = client.get(path)[1]
    assert told["seconds"]["low"] < told["seconds"]["high"]
    assert client_of(cast.outsider).get(path)[0] == 404
    build = make_told_build(artifact=make_passported(team=cast.team))
    whole = client.get(f"/v1/builds/{build.id}")[1]
    outcome = {each["amount"]: each for each in whole["outcome"] if each["step"] is None}
    assert outcome["seconds"]["measured"] == 32.0
    assert outcome["seconds"]["ratio"] == 0.8
    assert outcome["peak_host_bytes"]["ratio"] == 1.0
    assert outcome["peak_device_bytes"]["measured"] is None
    assert outcome["peak_device_bytes"]["absent"] == "it runs on the CPU"
    assert whole["steps"][0]["measured"]["host"] == "node-1"
    assert whole["reuse"]["differences"][0]["label"] == "torch version"


def test_a_builds_page_shows_what_was_planned_beside_what_was_measured(cast: "Cast") -> None:
    build = make_told_build(artifact=make_passported(team=cast.team))
    words = signed_in(cast.owner).get(f"/builds/{build.number}/").content.decode()
    assert "Planned and measured" in words
    assert "×\u202f0.80" in words
    assert "resident memory of all processes of the step" in words
    assert "torch version" in words
    assert "2.12.0" in words


def test_a_waiting_build_shows_its_place_as_it_is_now(revision: "Revision", cast: "Cast") -> None:
    factories.make_build(state=BuildState.FETCHING, started_at=clock.now())
    build = build_create(revision=revision, user=cast.owner)
    address = f"/builds/{build.number}/"
    client = signed_in(cast.owner)
    page = client.get(address).content.decode()
    assert "1 build before it in pool" in page
    assert "not measured" not in page
    Build.objects.exclude(id=build.id).update(state=BuildState.FAILED)
    assert "Nothing is before it in pool" in client.get(address).content.decode()
    Build.objects.filter(id=build.id).update(state=BuildState.FETCHING, started_at=clock.now())
    assert "before it in pool" not in client.get(address).content.decode()
