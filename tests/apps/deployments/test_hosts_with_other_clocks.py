"""What waits does so by the database's clock, whichever host wrote it and whatever its own says."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import pytest
import time_machine
from django.db import connection

from apps.deployments.models import FailedStarts, Replica
from apps.deployments.plan import next_start_at
from apps.deployments.served_models.services import model_create
from apps.deployments.services.reconcile import deployment_settle
from controlplane import database_clock
from controlplane.database_clock import DatabaseClock
from tests import factories
from tests.factories_serving import BROKEN, make_servable_build, make_serving_node, node_says

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
A_WAIT = timedelta(minutes=6)


@pytest.mark.parametrize("shift", [timedelta(days=40), timedelta(days=-40)])
def test_a_wait_that_a_host_40_days_off_began_ends_when_it_should(
    cast: factories.Cast, shift: timedelta
) -> None:
    node = make_serving_node(name="a")
    with _host(shift):
        _, served = model_create(
            team=cast.team, name="m", build=make_servable_build(team=cast.team)
        )
        deployment_settle(deployment_id=served.id)
        node_says(node, {Replica.objects.get().id: "failed"}, failure=BROKEN)
    moments, now = _moments(Replica.objects.get()), _database_now()
    assert {name for name, each in moments.items() if abs(each - now) > A_WAIT} == set()


def _moments(replica: Replica) -> dict[str, datetime]:
    served, failed = replica.deployment, FailedStarts.objects.get()
    values = {
        "created": served.created_at,
        "ordered": replica.ordered_at,
        "finished": replica.finished_at,
        "retried": failed.retry_at,
        "next start": next_start_at(served, [replica]),
    }
    return {name: each for name, each in values.items() if each is not None}


@contextmanager
def _host(shift: timedelta) -> Iterator[None]:
    """Be a process on a host whose clock is so far off."""
    with time_machine.travel(_database_now() + shift, tick=True):
        DatabaseClock().ask(connection)
        try:
            yield
        finally:
            database_clock.follow_own_clock()


def _database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
