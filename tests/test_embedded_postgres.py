"""The database of the tests is emptied after each with transactions of its own."""

import threading

import pytest
from django.contrib.auth.models import Permission
from django.db import connection, transaction

from apps.accounts.models import AuditEntry
from apps.fleet.models import DeviceLease, Node
from tests import factories
from tests.embedded_postgres import empty_database
from tests.waiting import DEADLINE_SECONDS, wait_for

pytestmark = pytest.mark.django_db(transaction=True)


def test_rows_that_hold_each_other_and_those_that_nobody_may_delete_go_alike() -> None:
    factories.make_lease(device=factories.make_device(node=factories.make_node()))
    AuditEntry.objects.create(actor_kind="system")
    empty_database()
    assert not DeviceLease.objects.exists()
    assert not Node.objects.exists()
    assert not AuditEntry.objects.exists()
    assert Permission.objects.exists()


def test_what_another_has_begun_to_write_is_waited_for_and_goes_as_well() -> None:
    written = threading.Event()

    def write() -> None:
        with transaction.atomic():
            factories.make_node()
            written.set()
            wait_for(_someone_waits, what="the emptying to come to a lock")
        connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    assert written.wait(DEADLINE_SECONDS)
    empty_database()
    writer.join(DEADLINE_SECONDS)
    assert not Node.objects.exists()


def _someone_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() is not None
