"""A statement that is asked again is planned once, and outlives a change of the schema."""

from contextlib import suppress

import pytest
from django.db import NotSupportedError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from controlplane.prepared import SOFT_COMMIT, prepared_cursor, soft_commit

pytestmark = pytest.mark.django_db
_ASK = "SELECT word FROM words WHERE word <> %s"


@pytest.fixture(autouse=True)
def _words() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE words (word varchar(4))")
        cursor.execute("INSERT INTO words VALUES ('a'), ('b')")


def asked(but: str) -> list[str]:
    with prepared_cursor() as cursor:
        cursor.execute(_ASK, [but])
        return [word for (word,) in cursor.fetchall()]


def prepared() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM pg_prepared_statements WHERE statement LIKE 'SELECT word FROM words%%'"
        )
        return len(cursor.fetchall())


def test_it_is_prepared_once_and_bound_to_each_value() -> None:
    with CaptureQueriesContext(connection) as counted:
        assert [asked(each) for each in ("a", "b", "'", "a")] == [["b"], ["a"], ["a", "b"], ["b"]]
    assert len(counted) == 4
    assert prepared() == 1


def test_a_change_of_the_schema_costs_one_attempt_at_most() -> None:
    for _ in range(4):
        asked("a")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE words ALTER word TYPE varchar(8)")
    with suppress(NotSupportedError), transaction.atomic():
        asked("a")
    assert [asked("a") for _ in range(4)] == [["b"]] * 4


def test_what_is_said_again_waits_for_no_disk_unless_it_is_part_of_a_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = soft_commit()
    with monkeypatch.context() as patch:
        patch.setattr(connections["default"], "in_atomic_block", False)
        alone = soft_commit()
    with prepared_cursor() as cursor:
        modes = []
        for each in (part, alone):
            cursor.execute(f"SELECT {SOFT_COMMIT}", each)
            modes += cursor.fetchone()
    assert modes == ["on", "off"]
