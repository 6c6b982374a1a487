"""Rotates the key ring again and again, killed one line later each time, until one run ends.

Before each run every secret must open. Says at how many places runs were killed.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import Any

import django

_WATCHED = ("services/rotation.py", "accounts/key_ring.py")


def main() -> None:
    django.setup()
    places = 0
    while not _ended(_in_a_process(partial(_rotate_until, places))):
        places += 1
    sys.stdout.write(str(places))


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
        raise SystemExit("a secret was lost, or a rotation failed by itself")
    return True


def _rotate_until(places: int) -> None:
    from apps.secrets.services import secret_rotate

    _assert_all_open()
    _wait_for_the_dead()
    passed: set[tuple[int, ...]] = set()

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        if not _is_watched(frame):
            return None
        if event == "line":
            passed.add(_place(frame))
            if len(passed) > places:
                os.kill(os.getpid(), signal.SIGKILL)
        return watch

    sys.settrace(watch)
    secret_rotate()


def _is_watched(frame: FrameType) -> bool:
    return frame.f_code.co_filename.endswith(_WATCHED)


def _place(frame: FrameType | None) -> tuple[int, ...]:
    """Return the lines by which one was come to: a helper's counts for each of its users."""
    lines = []
    while frame is not None:
        lines += [frame.f_lineno] if _is_watched(frame) else []
        frame = frame.f_back
    return tuple(lines)


def _wait_for_the_dead() -> None:
    """Return once the database has let go of what the run before held."""
    from django.db import connection

    from apps.secrets.services.rotation import _ROTATION_LOCK

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_ROTATION_LOCK])
        cursor.execute("SELECT pg_advisory_unlock(%s)", [_ROTATION_LOCK])


def _assert_all_open() -> None:
    from apps.accounts.models import Team
    from apps.secrets.models import Secret
    from apps.secrets.services import secrets_reveal

    def values(team: Team) -> Mapping[str, str]:
        names = Secret.objects.filter(team=team).values_list("name", flat=True)
        return secrets_reveal(team=team, names=list(names))

    for team in Team.objects.filter(secrets__isnull=False).distinct():
        assert all(value == f"value of {name}" for name, value in values(team).items())


if __name__ == "__main__":
    main()
