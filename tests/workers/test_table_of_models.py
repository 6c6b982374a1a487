"""Transformers' table of its models: the same as it reads itself, kept for these very files."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workers.table_of_models import kept_table

_ASKING = """
import json, sys
opened = []
sys.addaudithook(lambda event, values: event == "open" and opened.append(str(values[0])))
from workers.imports import import_tokenizers
import_tokenizers()
import transformers
from pathlib import Path
from transformers.utils import import_utils
read = sum("/models/llama/modeling_" in each and each.endswith(".py") for each in opened)
function = import_utils.create_import_structure_from_path
folder = str(Path(transformers.__file__).parent / "models")
print(json.dumps({"read": read, "same": function(folder) == function._read(folder),
                  "left": [str(each) for each in sys.meta_path if "table_of" in str(each)]}))
"""


class _Reader:
    """Says which files a folder holds, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, folder: str) -> dict[frozenset[str], set[str]]:
        self.asked += 1
        return {frozenset({"torch"}): {each.name for each in Path(folder).glob("*.py")}}


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "modeling_a.py").write_text("")
    return tmp_path


@pytest.fixture(autouse=True)
def bytecode_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where whoever runs the tests keeps Python from it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)


def test_what_was_read_is_kept_and_is_the_same(models: Path) -> None:
    read = _Reader()
    assert kept_table(read, models) == kept_table(read, models) == read(str(models))
    assert read.asked == 2  # one of them ours


def _changed(models: Path) -> None:
    (models / "modeling_a.py").write_text("class A: ...")


def _added(models: Path) -> None:
    (models / "modeling_b.py").write_text("")


def _cut(models: Path) -> None:
    kept = _kept(models)
    kept.write_bytes(kept.read_bytes()[:-3])


def _kept(models: Path) -> Path:
    return next((models / "__pycache__").glob("*.marshal"))


@pytest.mark.parametrize("harm", [_changed, _added, _cut])
def test_it_is_read_anew_once_a_file_or_what_is_kept_is_another(
    models: Path, harm: Callable[[Path], None]
) -> None:
    read = _Reader()
    kept_table(read, models)
    harm(models)
    assert kept_table(read, models) == read(str(models))
    assert read.asked == 3
    kept_table(read, models)
    assert read.asked == 3


def test_where_nothing_may_be_written_it_is_read_each_time(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (models / "__pycache__").write_text("no folder")
    read = _Reader()
    assert kept_table(read, models) == kept_table(read, models)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (models / "__pycache__").unlink()
    kept_table(read, models)
    assert read.asked == 3
    assert not (models / "__pycache__").exists()


@pytest.mark.engine
def test_transformers_takes_the_kept_table_and_finds_in_it_what_it_reads_itself() -> None:
    report = [_told(), _told()][-1]
    assert report == {"read": 0, "same": True, "left": []}


def _told() -> dict[str, Any]:

    process = subprocess.run(
        [sys.executable, "-c", _ASKING], capture_output=True, text=True, check=True
    )
    return dict(json.loads(process.stdout))
