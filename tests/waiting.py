"""The one way to wait in tests: for something to become true, with one generous deadline.

The deadline bounds nothing of the product; it ends a test that would otherwise hang, and says what
was waited for and how every process of the test stands.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import TypeVar

import psutil

DEADLINE_SECONDS = 120.0
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.1
_Value = TypeVar("_Value")


def wait_for(
    condition: Callable[[], _Value],
    *,
    what: object,
    meanwhile: Callable[[], object] = lambda: None,
    longest_pause_seconds: float = _LONGEST_PAUSE_SECONDS,
) -> _Value:
    """Return the condition's first true value; `meanwhile` is called between looks.

    A look that takes much from what is waited for has a longer pause after it.

    `what` names what is waited for, or is a function that does so when it did not come.
    """
    deadline = time.monotonic() + DEADLINE_SECONDS
    pause_seconds = _FIRST_PAUSE_SECONDS
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(_expired(what))
        meanwhile()
        time.sleep(pause_seconds)
        # Looking takes time away from what is waited for.
        pause_seconds = min(pause_seconds * 1.2, longest_pause_seconds)
    return value


def seldom(act: Callable[[], object], *, looks: int = 10) -> Callable[[], None]:
    """Return what acts in the first of so many calls: what stands for a sweep takes much itself."""
    calls = count()

    def act_seldom() -> None:
        if next(calls) % looks == 0:
            act()

    return act_seldom


def processes_of_the_test() -> str:
    """Return a line for each process that the tests have started: pid, state, CPU, command."""
    return "\n".join(map(_told, psutil.Process().children(recursive=True))) or "(none)"


def _expired(what: object) -> str:
    return (
        f"not within {DEADLINE_SECONDS:.0f} s: {what() if callable(what) else what}\n"
        f"Processes of the test:\n{processes_of_the_test()}"
    )


def _told(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        spent = sum(process.cpu_times()[:2])
        command = " ".join(process.cmdline())[:160]
        return f"{process.pid} {process.status()} {spent:.1f} s CPU: {command}"
    return f"{process.pid} gone"
