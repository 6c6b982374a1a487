"""Rows of a task: read whole, or refused with the line."""

from pathlib import Path

import pytest

from controlplane.sources import SourceOptions
from workers.build_steps.calibration.dataset import Places
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating.tasks.rows import read_task_rows

pytestmark = pytest.mark.engine


def read(folder: Path, name: str) -> tuple[list[object], str]:
    sources = SourceOptions(local_checkpoint_roots=(str(folder),))
    rows, revision = read_task_rows("mine", name, Places(sources=sources, kept={}))
    return list(rows), revision


def test_rows_keep_every_column_and_the_digest_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "a", "choices": ["b", "c"]}\n\n{"prompt": "d"}\n')
    rows, revision = read(tmp_path, str(path))
    assert rows == [{"prompt": "a", "choices": ["b", "c"]}, {"prompt": "d"}]
    path.write_text(path.read_text().replace("d", "e"))
    assert read(tmp_path, str(path))[1] != revision


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b'{"a": 1}\n{"a": \n', "line 2 is no JSON"),
        (b'{"a": 1}\n[1]\n', "line 2 is no object"),
        (b'{"a": "\xff"}\n', "line 1 is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_asked_from_is_named_with_the_line(
    content: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(StepFailure) as raised:
        read(tmp_path, str(path))
    assert raised.value.failure.code == "EHG-TASK-ROWS"
    assert said in raised.value.failure.sentence
    assert "`mine`" in raised.value.failure.sentence


@pytest.mark.parametrize("name", ["org/name", "enginehouse"])
def test_a_data_set_of_the_hub_is_no_file_to_ask_from(name: str, tmp_path: Path) -> None:
    with pytest.raises(StepFailure) as raised:
        read(tmp_path, name)
    assert raised.value.failure.code == "EHG-TASK-ROWS"


def test_a_file_outside_the_folders_of_the_server_is_refused(tmp_path: Path) -> None:
    (tmp_path / "roots").mkdir()
    (tmp_path / "rows.jsonl").write_text("{}\n")
    with pytest.raises(StepFailure) as raised:
        read(tmp_path / "roots", str(tmp_path / "rows.jsonl"))
    assert raised.value.failure.code == "EHC-OUTSIDE-ROOTS"
