"""The routes version grows with the change it stands for."""

import socket
from typing import Any

import pytest
from django.db import transaction

from apps.accounts.routes_version import routes_version_bump, routes_version_current
from tests.silent_server import attempts_at

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_bump_returns_the_version_the_change_will_be_known_by(broker: str) -> None:
    before = routes_version_current()
    with transaction.atomic():
        assert routes_version_bump() == before + 1
    assert routes_version_current() == before + 1


def test_a_broker_that_hangs_does_not_hold_the_change_up(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.BROKER_URL = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        with transaction.atomic():
            version = routes_version_bump()
        assert attempts_at(silent) == 1
    assert routes_version_current() == version
    assert "was not announced" in caplog.text


def test_a_bump_outside_a_transaction_is_refused() -> None:
    with pytest.raises(RuntimeError, match="in the transaction"):
        routes_version_bump()
