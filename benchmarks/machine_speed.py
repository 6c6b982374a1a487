"""How fast this machine is at the moment, so that the figures of two runs can be compared."""

import time

_ROUNDS = 600_000
"""About 50 ms of CPU on the machine that the figures of README.md are from."""


def loop_seconds() -> float:
    """Return the CPU seconds of a fixed loop in plain Python, the best of three."""
    return min(_loop_seconds() for _ in range(3))


def _loop_seconds() -> float:
    started = time.process_time()
    total = 0
    for number in range(_ROUNDS):
        total = (total * 31 + number) % 65_521
    return time.process_time() - started
