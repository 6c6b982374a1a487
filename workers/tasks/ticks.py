"""Tasks that the beat sends, without anything to work on but what the rows say."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from celery import Task, shared_task

_log = logging.getLogger(__name__)


def tick(name: str) -> Callable[[Callable[[], None]], "Task[Any, None]"]:
    """Return what makes a function the task of this name; what a newer beat says beside is told."""

    def made(do: Callable[[], None]) -> "Task[Any, None]":
        @wraps(do)
        def run(*, format: int, **unknown: object) -> None:
            if unknown:
                _log.warning("%s: unknown arguments %s", name, sorted(unknown))
            do()

        task: Task[Any, None] = shared_task(name=name)(run)
        return task

    return made
