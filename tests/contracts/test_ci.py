"""The CI file of a public host does what `.ci/run` does, with no right that it does not need."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
JOBS: dict[str, Any] = WORKFLOW["jobs"]
TARGET = re.compile(r"\bmake (\w+)")


def commands() -> str:
    return "\n".join(step.get("run", "") for job in JOBS.values() for step in job["steps"])


def actions() -> set[str]:
    return {step["uses"] for job in JOBS.values() for step in job["steps"] if "uses" in step}


def test_it_makes_what_the_own_script_makes() -> None:
    names = set(TARGET.findall((ROOT / ".ci/run").read_text()))
    assert names == set(TARGET.findall(commands())) == {"test", "lint", "docs"}


def test_it_runs_on_every_python_that_is_supported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.13"
    assert JOBS["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.12"]


def test_it_reads_the_code_and_may_do_nothing_else() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in JOBS.values())
    assert "secrets." not in (ROOT / ".github/workflows/ci.yml").read_text()
    checkouts = [step for job in JOBS.values() for step in job["steps"]
                 if step.get("uses", "").startswith("actions/checkout")]  # fmt: skip
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_every_action_is_of_the_hosts_own_and_pinned_by_its_version() -> None:
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", each) for each in actions())


def test_every_job_has_a_time_limit() -> None:
    assert all(job["timeout-minutes"] for job in JOBS.values())
