"""The web process: Django under ASGI."""

import os
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections, connection

from apps.rest.body_limit import BodyLimit, Limit, Receive, Scope, Send
from apps.rest.machine_handler import MachineHandler
from apps.rest.web_handler import WebHandler
from controlplane.database_watch import DatabaseWatch, ask_on_new_connection, watched_connection

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
django.setup(set_prefix=False)
# Workers wait out a database that restarts; whoever asks for a page is told so, and soon.
_watch = DatabaseWatch(ask_on_new_connection(lambda: connection.get_connection_params()))
for _database in settings.DATABASES.values():
    _options: Any = _database["OPTIONS"]
    _options["pool"].update(
        timeout=1.5, max_waiting=100, connection_class=watched_connection(_watch)
    )
# Who waited for the schema has opened one that knows nothing of this.
connection.close_pool()  # type: ignore[attr-defined]
_people, _machines = WebHandler(), MachineHandler()
_OF_MACHINES = "/internal/v1/"

_USUAL = Limit(bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
_FORM_BYTES = 1_000_000
"""What a form adds to the file that it carries."""


async def body_limit_of(scope: Scope) -> Limit | None:
    """Return how long a body may be: files only from people whom we know; None: ask again."""
    # Django has its apps only now.
    from apps.configs.calibration_sets.urls import UPLOAD_PATHS

    if scope["method"] != "POST" or scope["path"] not in UPLOAD_PATHS:
        return _USUAL
    is_known = await sync_to_async(_is_known)(scope)
    if is_known is None:
        return None
    if not is_known:
        return Limit(bytes=_USUAL.bytes, hint="Files are taken from callers with a valid API key.")
    return Limit(
        bytes=settings.CALIBRATION_MAX_BYTES + _FORM_BYTES,
        hint="The operator can raise CALIBRATION_MAX_BYTES.",
    )


def _is_known(scope: Scope) -> bool | None:
    from apps.accounts.known_callers import is_known_caller

    try:
        return is_known_caller(scope)
    except (InterfaceError, OperationalError):
        return None
    finally:
        # No request has begun whose end would give the connection back.
        close_old_connections()


async def _django(scope: Scope, receive: Receive, send: Send) -> None:
    is_machine = scope["path"].startswith(_OF_MACHINES)
    await (_machines if is_machine else _people)(scope, receive, send)


application = BodyLimit(_django, limit_bytes=_USUAL.bytes, limit_of=body_limit_of)
