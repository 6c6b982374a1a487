"""Work of every kind. Imports wait for Django."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.apps.leases.work import Work


@pytest.fixture(params=["build", "facts", "preview", "secret_test"])
def work(request: pytest.FixtureRequest, db: None, broker: str) -> "Work":
    """Waiting work, of each kind in turn."""
    from tests.apps.leases.work import Work

    return Work(request.param)


@pytest.fixture
def sent(broker: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is sent to workers, whose queues are empty; the tests' transaction never commits."""
    import redis

    with redis.from_url(broker) as client:
        client.flushall()
    ids: list[str] = []

    def note(_kind: Any, row: Any) -> None:
        ids.append(str(row.pk))

    monkeypatch.setattr("apps.leases.services.work_send", note)
    monkeypatch.setattr("apps.leases.sweeping.work_send", note)
    return ids
