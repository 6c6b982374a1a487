"""Rounds over many rows, of which a broken one must not hold up the rest."""

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

_log = logging.getLogger(__name__)
_Thing = TypeVar("_Thing")


def each_by_itself(
    things: Iterable[_Thing],
    act: Callable[[_Thing], object],
    *,
    broken: str,
    otherwise: Callable[[_Thing], object] = lambda _thing: None,
) -> int:
    """Return for how many `act` returned something true.

    What raises is logged as `broken`, which has a place for it, and given to `otherwise`.
    """
    done = 0
    for thing in things:
        try:
            done += bool(act(thing))
        except Exception:
            _log.exception(broken, thing)
            otherwise(thing)
    return done
