"""Whose request it is can be told from its head alone."""

import asyncio
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from apps.accounts.known_callers import is_known_caller
from apps.accounts.models import ApiKey
from apps.rest.body_limit import Limit
from controlplane import clock
from tests.factories import make_api_key, make_user

pytestmark = pytest.mark.django_db


def scope(path: str = "/v1/calibration_sets", **headers: str) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }


def test_a_live_key_and_a_session_are_known_and_nothing_else() -> None:
    user = make_user()
    key = make_api_key(user=user, type="PERSONAL")
    client = Client()
    client.force_login(user)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    assert is_known_caller(scope(authorization=f"Bearer {key}"))
    assert is_known_caller(scope(cookie=f"{settings.SESSION_COOKIE_NAME}={session}"))
    assert not is_known_caller(scope())
    assert not is_known_caller(scope(authorization="Bearer made.up"))
    assert not is_known_caller(scope(cookie=f"{settings.SESSION_COOKIE_NAME}=made-up"))
    ApiKey.objects.update(revoked_at=clock.now())
    assert not is_known_caller(scope(authorization=f"Bearer {key}"))


@pytest.mark.django_db(transaction=True)
def test_the_web_process_takes_files_only_where_they_belong_and_from_people_it_knows() -> None:
    from controlplane.asgi import body_limit_of

    key = make_api_key(user=make_user(), type="PERSONAL")

    def limit(path: str, authorization: str) -> Limit:
        return asyncio.run(body_limit_of(scope(path, authorization=authorization)))

    usual = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    for path in ("/v1/calibration_sets", "/calibration-sets/"):
        assert limit(path, f"Bearer {key}").bytes > settings.CALIBRATION_MAX_BYTES
        stranger = limit(path, "Bearer made.up")
        assert (stranger.bytes, "valid API key" in (stranger.hint or "")) == (usual, True)
    assert limit("/v1/configs", f"Bearer {key}") == Limit(bytes=usual)
