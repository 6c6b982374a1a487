"""When Python looks for garbage: not while a process imports what it stands on."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """Nothing is collected in the block, and what it made is never looked through again.

    Modules, models and rules are hundreds of thousands of objects that all stay, torch and its
    companions a million. To look for garbage among them is a sixth of their import, and afterwards
    as long a pause in the middle of the work.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
