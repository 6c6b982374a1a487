"""The web process: Django under ASGI."""

import os
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections

from apps.rest.body_limit import BodyLimit, Limit, Scope
from apps.rest.web_handler import WebHandler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
django.setup(set_prefix=False)
# Workers wait out a database that restarts; whoever asks for a page is told so, and soon.
for _database in settings.DATABASES.values():
    _options: Any = _database["OPTIONS"]
    _options["pool"].update(timeout=2, max_waiting=100)
_django = WebHandler()

_USUAL = Limit(bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
_FORM_BYTES = 1_000_000
"""What a form adds to the file that it carries."""


async def body_limit_of(scope: Scope) -> Limit:
    """Return how long a body may be: files only from people whom we know."""
    # Django has its apps only now.
    from apps.configs.calibration_sets.urls import UPLOAD_PATHS

    if scope["method"] != "POST" or scope["path"] not in UPLOAD_PATHS:
        return _USUAL
    if not await sync_to_async(_is_known)(scope):
        return Limit(bytes=_USUAL.bytes, hint="Files are taken from callers with a valid API key.")
    return Limit(
        bytes=settings.CALIBRATION_MAX_BYTES + _FORM_BYTES,
        hint="The operator can raise CALIBRATION_MAX_BYTES.",
    )


def _is_known(scope: Scope) -> bool:
    from apps.accounts.known_callers import is_known_caller

    try:
        return is_known_caller(scope)
    finally:
        # No request has begun whose end would give the connection back.
        close_old_connections()


application = BodyLimit(_django, limit_bytes=_USUAL.bytes, limit_of=body_limit_of)
