"""What is wrong with shared machines stands on the overview, and beside readiness."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection
from django.test import Client, RequestFactory

from apps.alerts.conditions import troubles as module
from apps.alerts.conditions.room import Room
from apps.alerts.conditions.troubles import LOW_BYTES, troubles
from apps.alerts.evaluation import alerts_evaluate
from apps.rest.error_answers import as_api_error
from apps.rest.internal import internal_view
from apps.ui.server_error import server_error
from controlplane import full_database
from controlplane.full_database import FULL_DATABASE, TOLD_SECONDS, FullDatabase
from tests.apps.pages import signed_in
from tests.factories import make_cast, make_node
from tests.factories_serving import make_gateway
from tests.manual_clock import ManualClock
from tests.small_disks import small_disk
from tests.waiting import DEADLINE_SECONDS

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_is_known_of_disks_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(FULL_DATABASE, "_met_at", None)
    monkeypatch.setattr(module, "LOW_BYTES", 1)
    rooms = module._rooms
    rooms.cache_clear()
    yield
    rooms.cache_clear()


def test_a_host_without_room_is_named_with_what_that_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOW_BYTES", LOW_BYTES)
    monkeypatch.setattr(module, "_rooms", lambda: ())
    make_node(name="gpu-1", disk_free_bytes=0)
    make_node(name="gpu-2", disk_free_bytes=LOW_BYTES)
    make_node(name="old-agent", disk_free_bytes=None)
    make_gateway(name="gw", disk_free_bytes=3 * 1024 * 1024)
    words = [each.sentence for each in troubles()]
    assert words == [
        "The disk of gateway `gw` has 3.0\u202fMiB left. Without any it serves on, usage waits in "
        "its memory, and promotions wait. Free space on it.",
        "The disk of node `gpu-1` has nothing left. Without any, what runs there goes on, and "
        "nothing new starts. Free space on it.",
    ]
    alerts_evaluate()
    page = signed_in(make_cast().owner).get("/").content.decode()
    assert "<code>gpu-1</code> has nothing left" in page


def test_a_small_store_of_artifacts_is_told_until_it_has_room(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    with small_disk(tmp_path / "store", size="1m"):
        monkeypatch.setattr(module, "LOW_BYTES", 1024 * 1024)
        settings.ARTIFACT_URL = (tmp_path / "store").as_uri()
        settings.DATA_DIR = tmp_path
        module._rooms.cache_clear()
        (tmp_path / "store" / "blob").write_bytes(b"x" * 500_000)
        (report,) = client.get("/readyz").json()["troubles"]
        assert report.startswith("The disk of the artifact store has 5")
        (tmp_path / "store" / "blob").unlink()
        assert client.get("/readyz").json() == {"status": "ready"}


def test_folders_on_one_disk_are_one_trouble(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOW_BYTES", 2**62)
    settings.ARTIFACT_URL, settings.DATA_DIR = (tmp_path / "artifacts").as_uri(), tmp_path
    (tmp_path / "artifacts").mkdir()
    module._rooms.cache_clear()
    (report,) = module.troubles_here()
    assert report.sentence.startswith("The disk of the data folder has ")


def test_a_store_of_objects_has_no_disk(settings: Any) -> None:
    settings.ARTIFACT_URL = "s3://bucket/prefix"
    module._rooms.cache_clear()
    assert len(module._rooms()) == 1


def test_a_folder_that_is_away_is_no_trouble_of_room(tmp_path: Path) -> None:
    assert Room(tmp_path / "gone").look() == (None, None)


def test_nobody_waits_for_a_look_that_another_has_yet_to_begin(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    room, start, is_first = Room(tmp_path), Thread.start, [True]
    other_begins, pass_on = Event(), Event()

    def slow(thread: Thread) -> None:
        if thread.name != "room":
            start(thread)
        elif is_first and is_first.pop():
            start(thread)
            thread.join()
            other_begins.wait(0.2)  # it cannot, while this one does
        else:
            other_begins.set()
            pass_on.wait(0.2)
            start(thread)

    monkeypatch.setattr(Thread, "start", slow)
    with ThreadPoolExecutor(2) as people:
        looks = [people.submit(room.look) for _ in range(2)]
        assert all(None not in each.result(DEADLINE_SECONDS) for each in looks)


def full() -> OperationalError:
    error = OperationalError("could not extend file")
    error.__cause__ = psycopg.errors.DiskFull()
    return error


def as_rest() -> str:
    return as_api_error(full()).message


def as_machine_route() -> str:
    @internal_view("GET")
    def view(request: Any) -> Any:
        raise full()

    answer = view(RequestFactory().get("/"))
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    return answer.content.decode()


def as_page() -> str:
    try:
        raise full()
    except OperationalError:
        answer = server_error(RequestFactory().get("/"))
    assert answer.status_code == 503
    return answer.content.decode()


@pytest.mark.parametrize("meet", [as_rest, as_machine_route, as_page])
def test_a_full_database_is_told_to_who_meets_it_and_then_to_all(
    meet: Callable[[], str], client: Client
) -> None:
    assert "disk of the database is full" in meet().lower()
    (report,) = troubles()
    assert report.sentence.startswith(full_database.SENTENCE)
    assert client.get("/readyz").json()["troubles"] == [report.sentence]


def test_postgres_says_so_in_a_way_that_is_understood() -> None:
    with pytest.raises(OperationalError) as raised, connection.cursor() as cursor:
        cursor.execute("DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$")
    assert FULL_DATABASE.is_cause_of(raised.value)


def test_it_is_told_for_a_minute() -> None:
    clock = ManualClock()
    known = FullDatabase(clock=clock)
    assert not known.was_met_lately
    assert not known.is_cause_of(OperationalError("no answer"))
    known.is_cause_of(full())
    clock.advance(TOLD_SECONDS - 1)
    assert known.was_met_lately
    clock.advance(1)
    assert not known.was_met_lately
