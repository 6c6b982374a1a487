"""What a process of the product keeps in its memory, and each test's begins without.

A test's database is emptied behind it. What is kept by an id, a version or an address of it would
meet the next test's rows, in some order of the tests.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

Forget = Callable[[Any], None]


def _routes(module: Any) -> None:
    module.BOOK = type(module.BOOK)()


def _full_disk(module: Any) -> None:
    module.FULL_DATABASE._met_at = None


def _silent_broker(module: Any) -> None:
    module._HINTS._silent_until.clear()


def _silent_counts(module: Any) -> None:
    module.CallerThrottle.silent_until = 0.0


def _store(module: Any) -> None:
    module._probe = type(module._probe)(module._ask)


def _disks(module: Any) -> None:
    clear = getattr(module._rooms, "cache_clear", None)  # a test may have put another in its place
    if clear is not None:
        clear()


def _silent_database(module: Any) -> None:
    module._watch.is_away = False


FORGOTTEN: dict[str, Forget] = {
    "apps.alerts.conditions.troubles": _disks,
    "apps.rest.rate_limits": _silent_counts,
    "apps.routes.internal_api": _routes,
    "controlplane.asgi": _silent_database,
    "controlplane.full_database": _full_disk,
    "controlplane.hints": _silent_broker,
    "workers.tasks.storage": _store,
}
"""By module, what is done after each test of a process that has imported it."""
OF_EVERY_TEST = {
    "apps.rest.body_limit.BodyLimit": "the application, as it is configured",
    "apps.rest.machine_handler.MachineHandler": "threads that wait for requests",
    "apps.rest.web_handler.WebHandler": "the application, as it is configured",
    "controlplane.clock.RemoteTime": "no database's time, in a process of tests",
    "controlplane.clock.SystemClock": "nothing",
    "controlplane.compiled_query.CompiledQuery": "the text of a query",
    "controlplane.database_clock.DatabaseClock": "nothing, in a process of tests",
    "controlplane.domain.redaction.Redactor": "its patterns",
    "controlplane.process_settings.control_plane.ControlPlaneSettings": "the run's environment",
    "workers.tasks.leasing.stopping._Stopping": "nothing: it asks Celery",
}
"""By class, what its instances in modules keep that is right for the next test, too."""
_WITH_ROWS = ("apps.", "controlplane.", "workers.tasks.")
"""What works on rows in a process of tests; gateways, agents and steps are made by each test."""
_TABLES = ("apps.ui.navigation.", "controlplane.domain.")
"""Where modules hold tables that nobody writes to."""


def forget() -> None:
    """Let this process know nothing of the rows and servers of the test before."""
    for name, forgotten in FORGOTTEN.items():
        if (module := sys.modules.get(name)) is not None:
            forgotten(module)


def kept_by_modules() -> Iterator[tuple[str, str]]:
    """Yield the class and the place of each object in a loaded module that could change."""
    for name, module in sorted(sys.modules.items()):
        if name.startswith(_WITH_ROWS):
            for word, value in sorted(vars(module).items(), key=lambda named: named[0]):
                if (kept := _class_of(value)) and not kept.startswith(_TABLES):
                    yield kept, f"{name}.{word}"


def _class_of(value: object) -> str:
    """Return the product's class of an object that is not frozen; nothing for any other."""
    of = type(value)
    frozen = getattr(getattr(of, "__dataclass_params__", None), "frozen", False)
    ours = of.__module__.startswith(_WITH_ROWS) and not isinstance(value, type)
    return "" if frozen or not ours else f"{of.__module__}.{of.__qualname__}"
