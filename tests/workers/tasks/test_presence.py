"""A worker that is there says so, and says when it leaves."""

import time

import pytest

from apps.fleet.models import Worker
from apps.fleet.selectors import builder_is_there
from apps.fleet.services import worker_arrived
from workers.tasks import presence

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_worker_is_listed_while_it_runs_and_gone_when_it_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(presence, "EVERY_SECONDS", 0.05)
    here = presence.Presence("build.default@test-presence")
    here.start()
    try:
        until(lambda: Worker.objects.filter(name="build.default@test-presence").exists())
        first = Worker.objects.get(name="build.default@test-presence").last_seen_at
        until(lambda: Worker.objects.filter(last_seen_at__gt=first).exists())
        assert builder_is_there()
    finally:
        here.leave()
    assert not Worker.objects.filter(name="build.default@test-presence").exists()


def test_a_worker_that_starts_again_is_the_same_worker() -> None:
    for version in ("1", "2"):
        worker_arrived(name="control@test-presence", version=version)
    assert Worker.objects.get(name="control@test-presence").version == "2"


def until(holds: object) -> None:
    deadline = time.monotonic() + 30
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)
