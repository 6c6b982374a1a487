"""Of the last two admins of the organisation one stays, however close together both go."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection, transaction

from apps.accounts.models import User
from apps.accounts.people.members import person_deactivate, person_set_admin
from apps.rest.errors import Conflict
from tests.factories import make_team, make_user
from tests.waiting import wait_for

Leave = Callable[[User], None]


def demoted(user: User) -> None:
    person_set_admin(user=user, is_admin=False)


def deactivated(user: User) -> None:
    person_deactivate(user=user)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("first", [demoted, deactivated])
@pytest.mark.parametrize("second", [demoted, deactivated])
def test_the_second_of_two_that_leave_at_once_stays(first: Leave, second: Leave) -> None:
    team = make_team()
    one, other = (make_user(email=f"{name}@example.com", is_admin=True, team=team) for name in "ab")
    ended: list[str] = []
    late = threading.Thread(target=_leave, args=(second, other, ended))
    with transaction.atomic():
        first(one)
        late.start()
        wait_for(lambda: _waits_for_a_lock() or ended, what="the other to wait for the first")
        assert not ended, "it did not wait, and would have left too"
    late.join()
    assert ended == ["b@example.com is the only admin of the organisation."]
    assert User.objects.get(is_admin=True, is_active=True) == other


def _leave(leave: Leave, user: User, ended: list[str]) -> None:
    try:
        leave(user)
        ended.append("left")
    except Conflict as error:
        ended.append(error.message)
    finally:
        connection.close()


def _waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        # Not pg_stat_activity, which a transaction reads once.
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() is not None
