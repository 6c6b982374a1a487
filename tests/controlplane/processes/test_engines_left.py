"""What serves on when all else has stopped, told by the folders that the agent leaves."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controlplane.processes.engines_left import engines_left, words_of
from controlplane.processes.single import hold_data_dir
from tests.waiting import DEADLINE_SECONDS
from workers.agent.folders import ReplicaFolder, replica_folder
from workers.agent.identity import identity_of
from workers.agent.settings import read_settings

_ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def engine_on(data_dir: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that the agent of the folder has left as the runner of an engine."""
    folder = _folder(data_dir)
    folder.path.mkdir(parents=True)
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            identity = identity_of(process.pid)
            assert identity is not None
            folder.write("runner", identity.to_json())
            folder.write("wanted", {"served_model_name": "support", "runtime": "native"})
            yield process
        finally:
            process.kill()


def _folder(data_dir: Path) -> ReplicaFolder:
    settings = read_settings({"DATA_DIR": str(data_dir), "NODE_NAME": "host-1"})
    return replica_folder(settings.replicas, "krfe9", 1)


def test_an_engine_that_runs_is_told_with_what_it_holds_and_how_it_ends(tmp_path: Path) -> None:
    with engine_on(tmp_path) as engine:
        (left,) = engines_left(tmp_path)
        assert (left.replica_id, left.model, left.pid) == ("krfe9", "support", engine.pid)
        assert left.held_bytes > 0
        words = " ".join(words_of([left]))
        assert "1 engine goes on serving and holds about 0.0 GB" in words
        assert "manage.py stop_engines" in words
        assert words_of([left, left])[0].startswith("2 engines go on serving and hold about")


def test_what_has_ended_is_not_told(tmp_path: Path) -> None:
    assert words_of(engines_left(tmp_path)) == []
    with engine_on(tmp_path):
        pass
    assert engines_left(tmp_path) == []


def test_a_process_that_has_only_the_number_of_an_engine_is_none(tmp_path: Path) -> None:
    with engine_on(tmp_path) as engine:
        folder = _folder(tmp_path)
        stored = folder.read("runner")
        assert stored is not None
        for other in ({"start_ticks": 1}, {"boot_id": "of yesterday"}):
            folder.write("runner", {**stored, **other})
            assert engines_left(tmp_path) == []
        folder.write("runner", stored)
        assert [each.pid for each in engines_left(tmp_path)] == [engine.pid]


def stop_engines(data_dir: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", "stop_engines"],
        cwd=_ROOT,
        env={**os.environ, "DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )


@pytest.mark.process
def test_the_command_ends_them_and_leaves_them_to_a_machine_that_runs(tmp_path: Path) -> None:
    with engine_on(tmp_path) as engine:
        with hold_data_dir(tmp_path):
            assert "Enginehouse runs here" in stop_engines(tmp_path).stderr
        assert engine.poll() is None
        report = stop_engines(tmp_path)
        assert report.stdout == "1 ended.\n", report.stderr
    assert stop_engines(tmp_path).stdout == "No engine runs here.\n"
