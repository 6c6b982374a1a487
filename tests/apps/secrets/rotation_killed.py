"""Rotates the key ring again and again, killed one step later each time, until one run ends.

A step is a line of what rotates, at each row anew. Before each run all that is sealed must open.
Says at how many steps runs were killed. With `refusing`, the last commit of each run fails.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import django
import pytest

_WATCHED = (
    "secrets/services/rotation.py",
    "accounts/services/authenticators.py",
    "accounts/models/authenticators.py",
    "accounts/key_ring.py",
    "accounts/sealing.py",
)
_OF_ONE_ROW = ("_reseal", "sealed_by")


def main(how: str = "") -> None:
    django.setup()
    from apps.secrets.services import rotation

    rotation.BATCH_ROWS = 2
    rotate = _rotate_in_vain if how == "refusing" else _rotate
    steps = 0
    while not _ended(_in_a_process(partial(_killed_after, steps, rotate))):
        steps += 1
    sys.stdout.write(str(steps))


def _in_a_process(act: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            act()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(3)
    return os.waitpid(child, 0)[1]


def _ended(status: int) -> bool:
    if os.WIFSIGNALED(status):
        return False
    if os.WEXITSTATUS(status) != 0:
        raise SystemExit("something sealed was lost, or a rotation failed by itself")
    return True


def _killed_after(steps: int, rotate: Callable[[], None]) -> None:
    from tests.apps.secrets.refusing import allow_commits

    _wait_for_the_dead()
    allow_commits()
    _assert_all_open()
    row = 0
    passed: set[tuple[int, ...]] = set()

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal row
        if not _is_watched(frame):
            return None
        row += event == "call" and frame.f_code.co_name in _OF_ONE_ROW
        if event == "line":
            passed.add((row, *_place(frame)))
            if len(passed) > steps:
                os.kill(os.getpid(), signal.SIGKILL)
        return watch

    sys.settrace(watch)
    rotate()


def _is_watched(frame: FrameType) -> bool:
    return frame.f_code.co_filename.endswith(_WATCHED)


def _place(frame: FrameType | None) -> tuple[int, ...]:
    """Return the lines by which one was come to: a helper's counts for each of its users.

    What is done for each key of the ring counts once: every killed run leaves one more there.
    """
    lines = []
    while frame is not None:
        lines += [frame.f_lineno] if _is_watched(frame) else []
        frame = frame.f_back
    return tuple(lines)


def _rotate() -> None:
    from apps.secrets.services.rotation import secret_rotate

    secret_rotate()


def _rotate_in_vain() -> None:
    """Rotate while somebody writes under the older key, so that the last commit fails."""
    from django.conf import settings
    from django.db import DatabaseError

    from apps.accounts.key_ring import key_ring_load
    from apps.secrets.services.rotation import secret_rotate
    from tests.apps.secrets.refusing import refuse_commits, write_late

    before = key_ring_load(settings.KEY_RING_FILE)

    def late_writer(done: int, total: int) -> None:
        if done == total:
            write_late(before)
            refuse_commits()

    with pytest.raises(DatabaseError, match="no commit today"):
        secret_rotate(on_progress=late_writer)


def _wait_for_the_dead() -> None:
    """Return once the database has let go of what the run before held."""
    from django.db import connection

    from apps.secrets.services.rotation import _ROTATION_LOCK

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_ROTATION_LOCK])
        cursor.execute("SELECT pg_advisory_unlock(%s)", [_ROTATION_LOCK])


def _assert_all_open() -> None:
    from apps.accounts.models import Authenticator, Team
    from apps.secrets.models import Secret
    from apps.secrets.services.values import secrets_reveal

    for team in Team.objects.filter(secrets__isnull=False).distinct():
        names = list(Secret.objects.filter(team=team).values_list("name", flat=True))
        values = secrets_reveal(team=team, names=names)
        assert values == {name: f"value of {name}" for name in names}
    for device in Authenticator.objects.all():
        assert device.bin_key.hex() == device.name


if __name__ == "__main__":
    main(*sys.argv[1:])
