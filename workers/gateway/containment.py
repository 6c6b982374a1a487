"""Keeps a slip of ours to the one request in which it happens."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar


class Ending(Protocol):
    def internal_error(self, error: Exception) -> None: ...


Owner = TypeVar("Owner", bound=Ending)


def contains(*steps: str) -> Callable[[type[Owner]], type[Owner]]:
    """Let what one of these steps of a class raises end its object, and nothing else."""

    def contain(owner: type[Owner]) -> type[Owner]:
        for name in steps:
            setattr(owner, name, contained(getattr(owner, name)))
        return owner

    return contain


def contained(step: Callable[..., None]) -> Callable[..., None]:
    @wraps(step)
    def contained_step(owner: Ending, *args: Any) -> None:
        try:
            step(owner, *args)
        except Exception as error:
            owner.internal_error(error)

    return contained_step
