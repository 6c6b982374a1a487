"""What a retry takes over of a build's earlier steps, and what it does again."""

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from apps.builds.leasing import BUILD
from apps.leases.lease import Lease
from tests.manual_clock import ManualClock
from workers.build_steps import outputs
from workers.build_steps.model_files import note_measured, published_files
from workers.tasks.building.folders import BuildFolder
from workers.tasks.building.reuse import published_result
from workers.tasks.leasing import LeaseKeeper

LEASE = Lease(kind=BUILD, id="abcdefgh", token=1, secret="x")
GATE = {"state": "passed"}


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> BuildFolder:
    """The folder of a build whose model was made, and measured."""
    settings.DATA_DIR = tmp_path
    build_folder = BuildFolder(LEASE)
    publish_model(build_folder, b"weights")
    gate = build_folder.published("gate")
    gate.mkdir()
    note_measured(published_files(build_folder.published("calibrate")), gate)
    outputs.seal(gate, step="gate", values=GATE, digests={})
    return build_folder


def publish_model(folder: BuildFolder, weights: bytes) -> None:
    model = folder.published("calibrate") / "model"
    model.mkdir(parents=True, exist_ok=True)
    (model / "model.safetensors").write_bytes(weights)
    outputs.seal(model.parent, step="calibrate", values={}, digests={})


def reused(folder: BuildFolder, step: str) -> Any:
    return published_result(LeaseKeeper(LEASE, clock=ManualClock()), folder, step)


def test_a_gate_that_looked_at_the_model_is_taken_over(folder: BuildFolder) -> None:
    assert reused(folder, "calibrate") == {}
    assert reused(folder, "gate") == GATE


def test_a_gate_looks_again_where_the_model_was_made_anew(folder: BuildFolder) -> None:
    publish_model(folder, b"other weights")
    assert reused(folder, "calibrate") == {}
    assert reused(folder, "gate") is None


def test_a_model_that_was_made_anew_as_it_was_keeps_its_gate(folder: BuildFolder) -> None:
    publish_model(folder, b"weights")
    assert reused(folder, "gate") == GATE


def test_a_gate_of_a_release_that_noted_no_files_looks_again(folder: BuildFolder) -> None:
    gate = folder.published("gate")
    (gate / "measured.json").unlink()
    outputs.seal(gate, step="gate", values=GATE, digests={})
    assert reused(folder, "gate") is None
