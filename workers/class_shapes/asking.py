"""Asks a class of Transformers what a config.json comes to, in a process of its own.

Answers are kept. Config.json is a stranger's: the process has limits, no network and no code of
theirs.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from controlplane.domain.facts.class_shape import ClassShape
from controlplane.sources.cache import CLASSES
from workers.build_steps.versions import tool_versions
from workers.build_steps.weights.class_loading import ENVIRONMENT
from workers.class_shapes import child
from workers.kept_answers import keep_answer, kept_answer

_ROOT = Path(__file__).resolve().parents[2]
_MODULE = "workers.class_shapes.child"
_SECONDS = 120


def class_shape(config: Mapping[str, Any], *, cache_dir: Path | None) -> ClassShape | None:
    config_json = json.dumps(config, sort_keys=True)
    place = cache_dir and cache_dir / CLASSES / _digest(config_json) / "shape.json"
    answer = kept_answer(place)
    if answer is None:
        answer = _answer_of_process(config_json)
        if answer is not None:
            keep_answer(place, answer)
    try:
        return ClassShape.model_validate(answer) if answer else None
    except ValidationError:
        return None


def _digest(config_json: str) -> str:
    """Return a name for all that the answer can depend on."""
    digest = hashlib.sha256(config_json.encode())
    digest.update(Path(child.__file__).read_bytes())
    digest.update(json.dumps(tool_versions(), sort_keys=True).encode())
    return digest.hexdigest()


def _answer_of_process(config: str) -> dict[str, Any] | None:
    """Return the answer, empty where the class cannot be made; None where nobody knows."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", _MODULE],
            input=config.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env={**_plain_environment(), **ENVIRONMENT},
            timeout=_SECONDS,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return answer if done.returncode == 0 else None


def _plain_environment() -> dict[str, str]:
    """Return what a Python process needs; the worker's own holds addresses and secrets."""
    names = ("PATH", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in names if name in os.environ}
