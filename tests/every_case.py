"""Hundreds of cases of a millisecond each in one test: as many tests cost five times that."""

from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def every_case(
    names: str, cases: Iterable[Any], *, ids: Callable[[Any], str] = str
) -> Callable[[Test], Callable[[], None]]:
    """Return a decorator like `parametrize`, of one test that tries all and tells each failure."""
    tried = list(cases)
    assert tried, "no case"

    def decorate(test: Test) -> Callable[[], None]:
        def of_all() -> None:
            failures = [_failure(test, names, case, ids(case)) for case in tried]
            wrong = [each for each in failures if each]
            if wrong:
                raise ExceptionGroup(f"{len(wrong)} of {len(tried)} cases", wrong)

        of_all.__name__, of_all.__module__ = test.__name__, test.__module__
        return of_all

    return decorate


def _failure(test: Test, names: str, case: Any, told: str) -> Exception | None:
    given = [each.strip() for each in names.split(",")]
    try:
        test(**dict(zip(given, case if len(given) > 1 else (case,), strict=True)))
    except Exception as error:
        error.add_note(f"The case: {told}")
        return error
    return None
