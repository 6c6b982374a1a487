"""The kept cluster of the tests is made once, by one, and never used when it is not what it was."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.migrated_postgres import Template

Make = Callable[[Path], None]


@pytest.fixture
def made() -> list[Path]:
    return []


@pytest.fixture
def make(made: list[Path]) -> Make:
    """Makes what stands for a cluster, and is told where in `made`."""

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "base").mkdir(parents=True)
        (folder / "base" / "1").write_text("rows")
        (folder / "PG_VERSION").write_text("18")

    return make


def test_of_runs_that_start_at_once_one_makes_it_and_the_others_copy(
    tmp_path: Path, make: Make, made: list[Path]
) -> None:
    runs = [tmp_path / f"run-{number}" for number in range(4)]
    with ThreadPoolExecutor(len(runs)) as threads:
        list(threads.map(lambda run: Template(tmp_path / "kept", "a").lay_out(run, make), runs))
    assert len(made) == 1
    assert [(run / "base" / "1").read_text() for run in runs] == ["rows"] * 4


def test_one_of_other_migrations_is_removed_for_the_new_one(
    tmp_path: Path, make: Make, made: list[Path]
) -> None:
    for run, name in enumerate("ab"):
        Template(tmp_path / "kept", name).lay_out(tmp_path / f"run-{run}", make)
    assert len(made) == 2
    assert {each.name for each in (tmp_path / "kept").iterdir()} == {"b", "b.size", "lock"}


def test_one_that_lost_a_file_is_made_anew(tmp_path: Path, make: Make, made: list[Path]) -> None:
    template = Template(tmp_path / "kept", "a")
    template.lay_out(tmp_path / "run-0", make)
    (tmp_path / "kept" / "a" / "base" / "1").unlink()
    template.lay_out(tmp_path / "run-1", make)
    template.lay_out(tmp_path / "run-2", make)
    assert made == [tmp_path / "run-0", tmp_path / "run-1"]
    assert (tmp_path / "run-2" / "base" / "1").read_text() == "rows"


def test_one_whose_making_failed_is_not_kept(tmp_path: Path, make: Make, made: list[Path]) -> None:
    def fail(folder: Path) -> None:
        make(folder)
        raise RuntimeError

    template = Template(tmp_path / "kept", "a")
    with pytest.raises(RuntimeError):
        template.lay_out(tmp_path / "run-0", fail)
    template.lay_out(tmp_path / "run-1", make)
    assert len(made) == 2
