"""The settings of production, and what our code never does with other people's files."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.waiting import DEADLINE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    each for area in ("apps", "controlplane", "workers") for each in (ROOT / area).rglob("*.py")
)
UNPICKLING = ("pickle", "cloudpickle", "dill", "joblib", "torch")
UNPICKLERS = {f"{module}.{name}" for module in UNPICKLING for name in ("load", "loads")} | {
    "yaml.load",
    "yaml.unsafe_load",
}


@pytest.mark.process
def test_djangos_own_check_of_a_deployment_is_clean(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        # Which the tests alone set.
        env={name: value for name, value in os.environ.items() if "ASYNC_UNSAFE" not in name}
        | {"PUBLIC_URL": "https://engines.example.com", "DATA_DIR": str(tmp_path), "DEBUG": "0"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_whatever_bandit_is_told_to_pass_over_has_its_reason_beside_it() -> None:
    bare = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in SOURCES
        for number, (before, line) in enumerate(pairwise(["", *path.read_text().splitlines()]), 1)
        if "# nosec" in line
        if not re.search(r"# nosec( B\d{3})+ \(.+\)$", line) and not before.strip().startswith("#")
    ]
    assert bare == []
    settings = (ROOT / "pyproject.toml").read_text()
    skipped = settings.partition("[tool.bandit]")[2].partition("skips = [\n")[2].partition("]")[0]
    assert [line for line in skipped.splitlines() if "  # " not in line] == []


def test_nothing_of_ours_loads_a_pickle() -> None:
    entries = [
        f"{place}: {ast.unparse(call.func)}"
        for place, call in calls(*UNPICKLING, "yaml")
        if ast.unparse(call.func) in UNPICKLERS
        or any(each.arg == "allow_pickle" for each in call.keywords)
    ]
    assert entries == []


def test_a_checkpoint_runs_its_remote_code_only_where_a_grant_was_asked_for() -> None:
    entries = sorted(
        (place.partition(":")[0], ast.unparse(each.value))
        for place, call in calls("trust_remote_code")
        for each in call.keywords
        if each.arg == "trust_remote_code" and ast.unparse(each.value) != "False"
    )
    loading = "workers/build_steps/quantization/loading.py"
    assert entries == [
        *[(loading, "checkpoint.runs_remote_code")] * 2,
        ("workers/build_steps/remote_code.py", "True"),
    ]
    classes = {
        place.partition(":")[0]
        for place, call in calls("get_class_from_dynamic_module")
        if ast.unparse(call.func).endswith("get_class_from_dynamic_module")
    }
    assert classes == {"workers/build_steps/remote_code.py"}


def calls(*words: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of each file that has one of the words."""
    for path in SOURCES:
        text = path.read_text()
        if not any(word in text for word in words):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node
