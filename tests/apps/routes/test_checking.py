"""What no change told of is found by the check of everything, slice by slice."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import OperationalError, transaction

from apps.accounts.models import ApiKey
from apps.accounts.routes_version import (
    routes_version_bump,
)
from apps.deployments.models import Replica
from apps.routes import book, checking
from apps.routes.book import RoutesBook
from apps.routes.checking import CHECK_SECONDS, SLICE_SECONDS
from controlplane import clock
from controlplane.domain.wire.routes import Place, RoutesDigest
from tests.apps.routes.follower import Follower, whole
from tests.factories import make_api_key, make_deployment, make_replica

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_what_changed_without_a_word_is_found_named_and_counted(follower: Follower) -> None:
    ApiKey.objects.update(requests_per_minute=7)
    assert follower.poll() is None
    report = _polled_after(follower, CHECK_SECONDS)
    assert report is not None
    assert list(report["keys"]) == [ApiKey.objects.get().secret_sha256]
    assert report["after"] is not None
    assert follower.book.unnamed == 1


def test_it_is_found_in_slices_of_which_none_reads_everything(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "FEWEST", 3)
    deployment = make_deployment(environment="production")
    replicas = [make_replica(deployment=deployment) for _ in range(7)]
    with transaction.atomic():
        routes_version_bump()
    follower.poll()
    read = _sizes_of_slices(follower.book, monkeypatch)
    silent = make_replica(deployment=deployment)
    Replica.objects.filter(id=replicas[0].id).delete()
    Replica.objects.filter(id=replicas[-1].id).update(port=1)
    values: dict[str, Any] = {}
    # Eleven rows: a model, a deployment, a key, seven replicas, and one that came.
    for seconds in (CHECK_SECONDS, *[SLICE_SECONDS] * 3):
        values |= (_polled_after(follower, seconds) or {"replicas": {}})["replicas"]
    assert values.keys() == {silent.id, replicas[0].id, replicas[-1].id}
    assert values[replicas[0].id] is None
    assert follower.book.unnamed == 3
    assert _polled_after(follower, SLICE_SECONDS) is None
    assert read == [3, 3, 3, 2], "and no more, until the next pass"
    assert follower.table.snapshot == whole().snapshot


def test_a_slice_that_the_database_did_not_answer_is_read_again(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    ApiKey.objects.update(requests_per_minute=7)

    def away(_: object) -> Any:
        raise OperationalError("the server closed the connection")

    with monkeypatch.context() as broken:
        broken.setattr(book, "routes_rows", away)
        with pytest.raises(OperationalError):
            _polled_after(follower, CHECK_SECONDS)
    report = _polled_after(follower, SLICE_SECONDS)
    assert list((report or {})["keys"]) == [ApiKey.objects.get().secret_sha256]


def test_a_key_that_ended_by_time_is_named_and_no_fault(follower: Follower) -> None:
    ends = clock.now() + timedelta(hours=1)
    make_api_key(expires_at=ends)
    key = ApiKey.objects.get(expires_at=ends)
    with transaction.atomic():
        routes_version_bump(keys=[key.secret_sha256])
    follower.poll()
    with time_machine.travel(ends, tick=False):
        report = _polled_after(follower, CHECK_SECONDS)
    assert (report or {})["keys"] == {key.secret_sha256: None}
    assert follower.book.unnamed == 0


def _polled_after(follower: Follower, seconds: float) -> dict[str, Any] | None:
    follower.book._check._clock.advance(seconds)
    return follower.poll()


def _sizes_of_slices(book: RoutesBook, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    sizes: list[int] = []
    of_book = book._check.next_slice

    def noted(known: RoutesDigest) -> list[Place]:
        places = of_book(known)
        sizes.append(len(places))
        return places

    monkeypatch.setattr(book._check, "next_slice", noted)
    return sizes
