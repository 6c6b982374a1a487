"""What is wrong with the machines that all teams share, and what to do about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.conf import settings

from apps.alerts.conditions.room import Room
from apps.fleet.selectors import clocks_apart, disks_below
from apps.ui.formats import size
from controlplane import full_database
from controlplane.domain.skew import skew_words
from controlplane.full_database import FULL_DATABASE

LOW_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Trouble:
    code: str
    subject: str
    """What of it: `node:gpu-1`."""
    sentence: str


def troubles() -> Sequence[Trouble]:
    disks = [_of_disk(kind, name, free) for kind, name, free in disks_below(free_bytes=LOW_BYTES)]
    return [*troubles_here(), *disks, *(_of_clock(*each) for each in clocks_apart())]


def troubles_here() -> Sequence[Trouble]:
    """Return those that this process sees without asking its database."""
    return [*_of_database(), *_of_folders()]


def _of_database() -> Iterator[Trouble]:
    if FULL_DATABASE.was_met_lately:
        words = f"{full_database.SENTENCE} What is served goes on. {full_database.HINT}"
        yield Trouble(code="database_full", subject="database", sentence=words)


def _of_folders() -> Iterator[Trouble]:
    seen = set()
    for words, room in _rooms():
        disk, free = room.look()
        if free is not None and free < LOW_BYTES and disk not in seen:
            seen.add(disk)
            yield Trouble(
                code="disk_full",
                subject=f"disk:{disk}",
                sentence=f"{words.format(_left(free))} Free space on it.",
            )


@cache
def _rooms() -> Sequence[tuple[str, Room]]:
    data = "The disk of the data folder has {} left: what is to be stored there fails without any."
    rooms = [(data, Room(settings.DATA_DIR))]
    store = urlsplit(settings.ARTIFACT_URL)
    if store.scheme == "file":
        artifacts = "The disk of the artifact store has {} left: no build ends well without any."
        rooms.append((artifacts, Room(Path(unquote(store.path)))))
    return rooms


def _of_disk(kind: str, name: str, free_bytes: int) -> Trouble:
    sentence = (
        f"The disk of {kind} `{name}` has {_left(free_bytes)} left. {_WITHOUT_ROOM[kind]} "
        "Free space on it."
    )
    return Trouble(code="disk_full", subject=f"{kind}:{name}", sentence=sentence)


_WITHOUT_ROOM = {
    "gateway": "Without any it serves on, usage waits in its memory, and promotions wait.",
    "node": "Without any, what runs there goes on, and nothing new starts.",
}


def _left(free_bytes: int) -> str:
    return size(free_bytes) if free_bytes else "nothing"


def _of_clock(kind: str, name: str, ahead_seconds: int) -> Trouble:
    sentence = (
        f"The clock of {kind} `{name}` is {skew_words(ahead_seconds)}{' of' * (ahead_seconds > 0)} "
        f"the database's. {_IN_SPITE[kind]}Set the clock of that host (NTP)."
    )
    return Trouble(code="clock_apart", subject=f"{kind}:{name}", sentence=sentence)


_IN_SPITE = {"gateway": "Usage is counted in its right minutes all the same. ", "node": ""}
