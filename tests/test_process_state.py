"""No test meets what another has left in the memory of their process."""

import importlib

import pytest

from tests.process_state import FORGOTTEN, OF_EVERY_TEST, forget, kept_by_modules

_FORGOTTEN = {
    "apps.routes.book.RoutesBook",
    "controlplane.artifacts.probing.Probe",
    "controlplane.database_watch.DatabaseWatch",
    "controlplane.full_database.FullDatabase",
    "controlplane.hints.Hints",
}


@pytest.fixture
def everything_is_loaded() -> None:
    """What a process of tests may come to import of the product's servers."""
    for name in (*FORGOTTEN, "controlplane.urls", "workers.tasks"):
        importlib.import_module(name)


@pytest.mark.usefixtures("everything_is_loaded")
def test_whatever_a_module_keeps_is_forgotten_or_right_for_every_test() -> None:
    unknown = [
        (kept, place)
        for kept, place in kept_by_modules()
        if kept not in {*OF_EVERY_TEST, *_FORGOTTEN}
    ]
    assert unknown == [], "name it in tests/process_state.py"


@pytest.mark.usefixtures("everything_is_loaded")
def test_what_was_met_in_a_test_is_not_known_in_the_next() -> None:
    from apps.rest.rate_limits import CallerThrottle
    from apps.routes import internal_api
    from controlplane import asgi
    from controlplane.full_database import FULL_DATABASE
    from controlplane.hints import _HINTS

    book = internal_api.BOOK
    CallerThrottle.silent_until = 1e12
    FULL_DATABASE._met_at = FULL_DATABASE._clock.monotonic()
    _HINTS._silent_until["redis://gone"] = 1e12
    asgi._watch.is_away = True
    forget()
    assert internal_api.BOOK is not book
    assert CallerThrottle.silent_until == 0.0
    assert not FULL_DATABASE.was_met_lately
    assert _HINTS._silent_until == {}
    assert not asgi._watch.is_away
