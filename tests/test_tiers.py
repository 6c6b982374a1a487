"""Which tests run for a change, by the paths that changed."""

import subprocess
from pathlib import Path

import pytest

from tests import tiers


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("controlplane/domain/rules/hardware/kind_and_number.py", ["tests/domain/rules"]),
        ("controlplane/domain/check_config.py", ["tests/domain"]),
        ("controlplane/domain/wire/of/nothing.py", ["tests/domain/wire"]),
        ("apps/builds/models.py", ["tests/apps/builds"]),
        ("templates/builds/list.html", ["tests/apps/builds"]),
        ("workers/gateway/exchange.py", ["tests/workers/gateway"]),
        ("tests/domain/cases.py", ["tests/domain"]),
        ("tests/domain/test_checks_document.py", ["tests/domain/test_checks_document.py"]),
        ("tests/domain/test_gone.py", ["tests/domain"]),
        ("tests/test_tiers.py", ["tests/test_tiers.py"]),
        ("docs/guide/first_model_on_a_cpu.md", []),
        ("workers/engine/loop.py", []),
        ("tests/e2e/test_recovery.py", []),
    ],
)
def test_a_change_leads_to_the_tests_that_mirror_its_place(changed: str, tests: list[str]) -> None:
    assert tiers.mirror([changed]) == tests


@pytest.mark.parametrize(
    "shared",
    [
        "pyproject.toml",
        "constraints.txt",
        "tests/conftest.py",
        "tests/factories.py",
        "controlplane/clock.py",
        "controlplane/domain/spec/parse.py",
    ],
)
def test_what_all_stand_on_leads_to_all_of_the_tier(shared: str) -> None:
    mirror = tiers.mirror(["docs/index.md", shared])
    assert {*tiers.FOLDERS, "tests/test_tiers.py"} <= {*mirror}


def test_every_folder_of_the_tier_is_there_and_has_tests() -> None:
    for folder in tiers.FOLDERS:
        assert tiers.files_of([folder]), folder
    assert all((tiers.ROOT / source).is_dir() for source in tiers.MIRRORED)


def test_files_that_are_slow_as_a_whole_are_left_out_unread(tmp_path: Path) -> None:
    for name, mark in {
        "one": "pytest.mark.engine",
        "many": "[\n    pytest.mark.django_db,\n    pytest.mark.process,\n]",
        "fast": "pytest.mark.django_db\nNOT = 'pytest.mark.process'",
    }.items():
        (tmp_path / f"test_{name}.py").write_text(f"pytestmark = {mark}\n\n\ndef f():\n    pass\n")
    assert tiers.files_of([""], tmp_path) == ["test_fast.py"]


def test_what_changed_is_what_is_not_as_on_main(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for name in ("kept", "edited", "committed"):
        (tmp_path / name).write_text("as it was")
    _run([*git, "init", "-q", "-b", "main"], [*git, "add", "."], [*git, "commit", "-qm", "First"])
    _run([*git, "checkout", "-qb", "work"])
    (tmp_path / "committed").write_text("otherwise")
    _run([*git, "commit", "-qam", "Second"])
    (tmp_path / "edited").write_text("otherwise")
    (tmp_path / "new").touch()
    assert tiers.changed_paths(tmp_path) == ["committed", "edited", "new"]


def test_without_a_changed_path_nothing_runs_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tiers, "changed_paths", lambda _root: ["README.md"])
    assert tiers.main(["--changed"]) == 0
    assert "No changed path" in capsys.readouterr().out


def _run(*commands: list[str]) -> None:
    for command in commands:
        subprocess.run(command, check=True)
