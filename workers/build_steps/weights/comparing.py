"""What a model class makes of a checkpoint's tensors, from a process of its own, kept for the next.

That process has torch and a meta device: no weights, no network, nothing of the checkpoint's code.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.sources.cache import CLASSES
from workers.build_steps.versions import tool_versions
from workers.build_steps.weights import class_loading
from workers.kept_answers import keep_answer, kept_answer

_MODULE = "workers.build_steps.weights.class_loading"
_ROOT = Path(__file__).resolve().parents[3]
_SOURCES = (
    "workers/build_steps/weights/class_loading.py",
    "workers/build_steps/weights/mending.py",
    "workers/model_layers.py",
    "controlplane/domain/facts/config_numbers.py",
)
"""What an answer comes from, beside Transformers."""

Shapes = Mapping[str, Sequence[int]]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    missing: tuple[str, ...]
    wrong: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]
    """Name, stored shape, wanted shape."""
    body: frozenset[str]
    """Of the missing ones, those that are not of a head."""
    unread: frozenset[str]
    """Tensors that are stored and that the class does not load."""
    beyond: tuple[str, ...]
    """Of those, the ones of layers that this config.json does not make."""


class NotCompared(Exception):
    """The class could not say; the text is why."""


class ConfigUnfit(Exception):
    """The class cannot be made of this config.json; the text is why."""


def compare(folder: Path, shapes: Shapes, *, cache_dir: Path | None) -> Comparison:
    """Return how tensors of these shapes fit the class of the folder.

    Raises NotCompared, or ConfigUnfit where the class cannot be made of the folder's config.json.
    """
    place = _place(folder, shapes, cache_dir)
    answer = kept_answer(place)
    if answer is None:
        answer = _answer_of_process(folder, shapes)
        if "refused_for_now" not in answer:
            keep_answer(place, answer)
    if reason := answer.get("config_refused"):
        raise ConfigUnfit(reason)
    if reason := answer.get("not_loadable") or answer.get("refused_for_now"):
        raise NotCompared(reason)
    return Comparison(
        missing=tuple(answer["missing"]),
        wrong=tuple((name, tuple(a), tuple(b)) for name, a, b in answer["wrong"]),
        body=frozenset(answer["body"]),
        unread=frozenset(answer["unread"]),
        beyond=tuple(answer["beyond"]),
    )


def _place(folder: Path, shapes: Shapes, cache_dir: Path | None) -> Path | None:
    """Return where the answer is kept: by all that it can depend on."""
    # In place of the folder of the job, for several installations on one machine.
    given = os.environ.get("MODEL_CLASS_CACHE")
    root = Path(given) if given else cache_dir and cache_dir / CLASSES
    if root is None:
        return None
    digest = hashlib.sha256((folder / "config.json").read_bytes())
    for source in (_ROOT / each for each in _SOURCES):
        digest.update(source.read_bytes())
    for part in (sorted((name, *shape) for name, shape in shapes.items()), tool_versions()):
        digest.update(json.dumps(part, sort_keys=True).encode())
    return root / digest.hexdigest() / "comparison.json"


def _answer_of_process(folder: Path, shapes: Shapes) -> dict[str, Any]:
    """Return what the process says; it dies with this step, whose mark it carries."""
    done = subprocess.run(
        [sys.executable, "-m", _MODULE, str(folder)],
        input=json.dumps({name: list(shape) for name, shape in shapes.items()}).encode(),
        stdout=subprocess.PIPE,
        cwd=_ROOT,
        env={**os.environ, **class_loading.ENVIRONMENT},
        check=False,
    )
    if done.returncode == -signal.SIGXCPU:
        return {"not_loadable": f"it takes more than {class_loading.CPU_SECONDS} s of CPU"}
    if done.returncode != 0:
        return {"refused_for_now": f"the comparing process ended with status {done.returncode}"}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
