"""Runs code as somebody who pastes it: with nothing but a key in the environment."""

import os
import subprocess
import sys
from pathlib import Path

import playwright

from apps.deployments.snippets import KEY
from tests.debian_parts import program


def run_pasted(language: str, code: str, *, key: str) -> str:
    """Return what the code prints; an error of its own fails the test."""
    done = subprocess.run(
        _command(language, code),
        env={"PATH": os.environ["PATH"], KEY: key},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{language}:\n{code}\n{done.stdout}{done.stderr}"
    return done.stdout


def _command(language: str, code: str) -> list[str]:
    if language == "curl":
        program("curl")
        return ["bash", "-c", code]
    if language == "javascript":
        # Playwright brings its own Node, so no machine has to have one.
        node = Path(playwright.__file__).parent / "driver" / "node"
        return [str(node), "--input-type=module", "-e", code]
    return [sys.executable, "-c", code]
