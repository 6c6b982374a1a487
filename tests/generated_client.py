"""A client that a stranger generates from the OpenAPI document, and that knows nothing else."""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import DEADLINE_SECONDS

NAME = "enginehouse_client"


def generate_client(folder: Path, document: bytes) -> str:
    """Return what the generator said, with the client lying in `folder`, ready to import."""
    (folder / "spec.json").write_bytes(document)
    argv = ("generate", "--path", "spec.json", "--output-path", NAME, "--meta", "none")
    done = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", *argv],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    return done.stdout + done.stderr


def part(name: str) -> Any:
    """Return a module of the client, whose folder is on the path."""
    return importlib.import_module(f"{NAME}.{name}")


def call(area: str, operation: str, client: Any, *path: Any, **arguments: Any) -> Any:
    """Return the answer to an operation, with its status and what the client made of it."""
    request = part(f"api.{area}.{operation}").sync_detailed
    return request(*path, client=client, **arguments)
