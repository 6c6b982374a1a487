"""Imports of large libraries, at less than their usual price."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """Nothing is collected in the block, and what it made is never looked through again.

    torch and its companions make a million objects that all stay. To look for garbage among them
    is a sixth of their import, and afterwards as long a pause in the middle of the work.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
