"""Rows of several hosts are stamped and judged by one clock."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.apps import apps
from django.db import connection
from django.db.models.functions import Now

from apps.accounts.models import Team
from controlplane import clock, database_clock
from controlplane.database_clock import ASKED_AGAIN_SECONDS, DatabaseClock
from controlplane.stamps import StampField
from tests.manual_clock import ManualClock

pytestmark = pytest.mark.django_db
FAR = timedelta(days=40)


@pytest.fixture(autouse=True)
def _own_clock_again() -> Iterator[None]:
    yield
    database_clock.follow_own_clock()


def _database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]


@pytest.mark.parametrize("shift", [FAR, -FAR])
def test_a_host_whose_clock_is_40_days_off_stamps_rows_with_the_databases_time(
    shift: timedelta,
) -> None:
    before = _database_now()
    with time_machine.travel(before + shift, tick=True):
        DatabaseClock().ask(connection)
        team = Team.objects.create(name="Elsewhere")
        now = clock.now()
    after = _database_now()
    slack = timedelta(seconds=1)  # time_machine counts its own ticks
    assert before - slack <= now <= after + slack
    assert before - slack <= team.created_at <= after + slack


def test_a_host_that_was_told_no_time_goes_by_its_own() -> None:
    moment = datetime(2031, 1, 1, tzinfo=UTC)
    with time_machine.travel(moment, tick=False):
        assert clock.now() == moment


def test_the_database_is_asked_once_a_minute(
    django_assert_num_queries: pytest.FixtureRequest,
) -> None:
    own = ManualClock()
    asks = DatabaseClock(clock=own)
    for seconds, queries in ((0, 1), (ASKED_AGAIN_SECONDS - 1, 0), (1, 1)):
        own.advance(seconds)
        with django_assert_num_queries(queries):  # type: ignore[operator]
            asks.ask(connection)


def test_a_host_with_another_time_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    own, report = ManualClock(at=_database_now() + FAR), "is 40 days ahead of the database's"
    asks = DatabaseClock(clock=own)
    asks.ask(connection)
    own.advance(ASKED_AGAIN_SECONDS)
    asks.ask(connection)
    assert sum(report in each for each in caplog.messages) == 1


def test_processes_of_the_product_follow_it_from_their_first_connection() -> None:
    code = (
        "import django; django.setup();"
        "from django.db import connection; from controlplane import clock;"
        "print(clock._database.moment is None); connection.ensure_connection();"
        "print(clock._database.moment is None)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == ["True", "False"]


def test_a_stamp_is_what_migrations_know_as_a_date_and_time() -> None:
    stamp = Team._meta.get_field("created_at")
    assert stamp.deconstruct()[1] == "django.db.models.DateTimeField"
    assert Team.objects.filter(created_at__lte=Now()).count() == Team.objects.count()


def test_no_column_of_ours_stamps_itself_by_the_hosts_clock() -> None:
    ours = [each for each in apps.get_models() if each.__module__.startswith("apps.")]
    by_itself = {
        f"{model.__name__}.{field.name}"
        for model in ours
        for field in model._meta.local_fields
        if getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False)
        if not isinstance(field, StampField)
    }
    assert by_itself == set()
