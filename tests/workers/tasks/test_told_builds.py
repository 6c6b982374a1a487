"""A real build measures its steps beside their forecast, keeps its inputs, and explains reuse."""

from pathlib import Path
from typing import Any

import pytest

from apps.builds.models import Artifact, Build
from apps.builds.services.requests import build_create
from apps.configs.models import Revision
from controlplane import clock
from controlplane.artifacts import input_digest
from controlplane.domain.forecast import Forecast
from controlplane.domain.forecast.outcome import Measured, StepTaken, compare
from controlplane.sources import folder_facts
from tests import factories
from tests.workers.tasks.building import MakeBuild, breaking, make_buildable
from workers.build_steps import inputs
from workers.build_steps.versions import tool_versions
from workers.tasks.build import build_run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.engine,
    pytest.mark.long,  # tests/apps/builds/test_reuse.py, build_steps/test_peaks.py
]
MIB = 1024**2
SHORTER = "    max_num_tokens: 256\n"


def run(build: Build) -> Build:
    build_run(build_id=build.id, format=1)
    build.refresh_from_db()
    assert build.failure is None, build.failure
    return build


def differences(build: Build) -> dict[str, tuple[Any, Any]]:
    told: Any = build.reuse
    return {each["label"]: (each["before"], each["now"]) for each in told["differences"]}


def test_a_build_is_measured_and_the_next_ones_say_why_they_could_not_take_its_artifact(
    make_build: MakeBuild, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = forecastable(checkpoint)
    first = run(build_create(revision=revision, user=None))
    assert_measured(first)
    assert_held_against_its_forecast(first)
    assert first.reuse["state"] == "first"
    made = Artifact.objects.get(id=first.artifact_id)
    assert made.inputs == first.reuse["inputs"]
    assert input_digest(made.inputs) == made.input_digest

    second = build_create(revision=revision, user=None)
    assert {each["seconds"]["basis"] for each in second.forecast["steps"]} == {"measured"}
    same = run(second)
    assert (same.reuse["state"], same.reuse["artifact_id"]) == ("same", made.id)
    assert same.steps.get(name="smoke_test").measured is None

    newer = tool_versions() | {"torch": "99.0"}
    monkeypatch.setattr(inputs, "tool_versions", lambda: newer)
    changed = make_buildable(checkpoint, team=first.team, added=SHORTER)
    breaking(monkeypatch, "smoke_test")
    other = make_build(revision=changed)
    build_run(build_id=other.id, format=1)
    other.refresh_from_db()
    assert other.failure["code"] == "EHB-BROKEN"
    assert other.reuse["state"] == "differs"
    found = differences(other)
    assert found.pop("torch version") == (tool_versions()["torch"], "99.0")
    assert found.pop("trt_llm.build.max_num_tokens")[1] == 256
    assert not found


def forecastable(checkpoint: Path) -> Revision:
    """A revision whose builds are forecast by the facts of its checkpoint."""
    revision = make_buildable(checkpoint)
    factories.make_device()
    factories.make_checkpoint_record(
        team=revision.config.team,
        repo=str(checkpoint),
        state="ready",
        facts=folder_facts(checkpoint, commit="c0ffee").model_dump(mode="json"),
        commit="c0ffee",
        fetched_at=clock.now(),
    )
    return revision


def assert_measured(build: Build) -> None:
    """Each step took time and memory by its supervisor's count; no GPU, which is not zero."""
    measured = {step.name: step.measured for step in build.steps.all()}
    for name, each in measured.items():
        assert each["seconds"] > 0, name
        assert each["peak_host_bytes"] > 20 * MIB, name
        assert each["peak_device_bytes"] is each["device_bytes_from"] is None
    assert measured["smoke_test"]["peak_host_bytes"] > 150 * MIB
    assert measured["fetch"]["disk_bytes"] > 100_000


def assert_held_against_its_forecast(build: Build) -> None:
    steps = [
        StepTaken(name=each.name, state=each.state, measured=Measured.model_validate(each.measured))
        for each in build.steps.all()
    ]
    outcomes = compare(Forecast.model_validate(build.forecast), steps)
    told = {each.amount.value: each for each in outcomes if each.step is None}
    assert told["seconds"].ratio is not None
    assert told["seconds"].measured <= 2 * told["seconds"].planned.high
    assert told["peak_host_bytes"].ratio is not None
    assert 0.4 < told["peak_host_bytes"].ratio < 1.5
    assert told["disk_bytes"].ratio is not None
