"""lm-eval with what it may not do here taken away: code of strangers in templates and metrics."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from controlplane.domain.failures.registry import gate
from controlplane.sources.options import SourceOptions
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures

PACKAGE = "lm_eval"
_SHOWN_LETTERS = 300


def check_installed() -> None:
    """Raise StepFailure with the way to install it where the harness is not here."""
    if find_spec(PACKAGE) is None:
        raise StepFailure.of(gate.HARNESS)


def harness_version() -> str:
    return version(PACKAGE)


def prepare(options: SourceOptions, cache: Path | None, token: str | None) -> None:
    """Import the harness so that it asks the right hub and runs nobody else's code.

    `token` opens gated questions; without one no other of this machine is sent.
    """
    if options.hf_endpoint:
        os.environ["HF_ENDPOINT"] = options.hf_endpoint
    if cache is not None:
        os.environ["HF_DATASETS_CACHE"] = str(cache / "task-questions")
    _send_only(token)
    _forbid_strange_metrics()
    _forbid_code_in_templates()


@contextmanager
def explained(task: str) -> Iterator[None]:
    """Turn what the harness raises at a task into a failure that names it."""
    try:
        yield
    except (StepFailure, MemoryError):
        raise
    except OSError as error:  # the hub's errors among them
        raise failures.no_questions(task, _reason(error)) from error
    except Exception as error:  # whatever a task and its rows come to
        raise failures.broken_task(task, _reason(error)) from error


def _send_only(token: str | None) -> None:
    import datasets

    load = getattr(datasets.load_dataset, "func", datasets.load_dataset)
    datasets.load_dataset = partial(load, token=token or False)


def _forbid_strange_metrics() -> None:
    """`evaluate` runs Python that it downloads for each metric that is not lm-eval's own."""
    import evaluate

    def refuse(name: str, *_: Any, **__: Any) -> Any:
        raise RuntimeError(f"the metric `{name}` is code of the hub, which is not run")

    evaluate.load = refuse


def _forbid_code_in_templates() -> None:
    """A config's templates are a user's: outside a sandbox they could call anything."""
    from jinja2 import BaseLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment
    from lm_eval import utils

    sandbox = SandboxedEnvironment(
        loader=BaseLoader(), undefined=StrictUndefined, keep_trailing_newline=True
    )
    sandbox.filters.update(utils.env.filters)
    utils.env = sandbox


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    reason = lines[0] if lines else type(error).__name__
    return reason if len(reason) <= _SHOWN_LETTERS else f"{reason[:_SHOWN_LETTERS]}…"
