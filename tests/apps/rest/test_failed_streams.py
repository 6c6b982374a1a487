"""A download that fails costs that download; what is busy says so, and heals."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.db import OperationalError, connection

from apps.accounts.audit import views as audit_views
from apps.accounts.audit.trail import _PAGE, audit_list, csv_lines
from apps.accounts.models import AuditEntry
from apps.accounts.permissions import Actor
from apps.rest.error_answers import as_api_error
from apps.secrets.models import Secret
from apps.secrets.services.values import secret_set
from tests.apps.pages import signed_in
from tests.factories import Cast, make_build, make_cast
from tests.processes import ROOT, database_url
from tests.waiting import DEADLINE_SECONDS
from tests.web_server import NO_CERTIFICATES, streaming_server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def browser(cast: Cast) -> Iterator[httpx.Client]:
    """The owner's browser before a server that streams."""
    cookie = signed_in(cast.owner).cookies[settings.SESSION_COOKIE_NAME].value
    with (
        streaming_server() as url,
        httpx.Client(
            base_url=url,
            cookies={settings.SESSION_COOKIE_NAME: cookie},
            timeout=DEADLINE_SECONDS,
            verify=NO_CERTIFICATES,
        ) as client,
    ):
        yield client


def fails_on_the_way(entries: Any) -> Iterator[bytes]:
    yield b"x" * 100_000
    AuditEntry.objects.count()
    raise RuntimeError("the disk is gone")


def fails_at_once(entries: Any) -> Iterator[bytes]:
    AuditEntry.objects.count()
    raise OperationalError("the database is gone")
    yield b""


def export_by(monkeypatch: pytest.MonkeyPatch, lines: Any) -> None:
    monkeypatch.setitem(audit_views._FORMATS, "csv", (lines, "text/csv"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_more_failed_downloads_than_there_are_connections_leave_all_of_them_free(
    browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_by(monkeypatch, fails_on_the_way)
    for _ in range(2 * connection.pool.max_size):
        with suppress(httpx.RemoteProtocolError):
            browser.get("/audit/export.csv")
    assert browser.get("/audit/").status_code == 200


def test_what_fails_before_the_first_byte_is_answered_as_an_error(
    browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_by(monkeypatch, fails_at_once)
    answer = browser.get("/audit/export.csv")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")


def test_an_export_holds_no_connection_between_two_pieces(cast: Cast) -> None:
    for number in range(2 * _PAGE // 100 + 1):
        AuditEntry.objects.bulk_create(
            AuditEntry(
                actor_kind="system",
                actor_label="test",
                source="command",
                action=f"test.{number}",
                target_label=str(each),
            )
            for each in range(100)
        )
    lines = csv_lines(audit_list(Actor(team=cast.team, user=cast.organisation_admin), {}))
    sent = []
    for line in lines:
        sent.append(line)
        connection.close()
    assert len(sent) == AuditEntry.objects.count() + 1
    assert len(set(sent)) == len(sent)


def test_without_a_free_connection_the_answer_is_503_and_the_next_one_is_whole(
    browser: httpx.Client, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.close()
    connection.ensure_connection()  # which opens the pool, where another test had closed it
    connection.close()
    pool = connection.pool
    monkeypatch.setattr(pool, "timeout", 0.05)
    taken = [pool.getconn(timeout=DEADLINE_SECONDS) for _ in range(pool.max_size)]
    try:
        page, rest = browser.get("/builds/"), browser.get("/v1/builds")
    finally:
        for each in taken:
            pool.putconn(each)
    monkeypatch.undo()
    assert (page.status_code, page.headers["Retry-After"]) == (503, "2")
    assert "has no answer right now" in page.text
    assert 'href="/builds/">Try again' in page.text
    assert (rest.status_code, rest.headers["Retry-After"]) == (503, "2")
    assert rest.json()["code"] == "unavailable"
    assert browser.get("/builds/").status_code == 200
    assert browser.get("/v1/builds").status_code == 200


def test_a_lost_database_is_no_bug_of_ours() -> None:
    assert as_api_error(OperationalError("the password is hunter2")).status == 503


def test_support_bundles_of_a_team_with_an_unreadable_secret_come_whole(
    browser: httpx.Client, cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "KEY_RING_FILE", tmp_path / "keys" / "secrets.keyring")
    secret_set(team=cast.team, name="whole", value="a value that opens")
    Secret.objects.create(
        team=cast.team, name="lost", key_id="k0", nonce=b"0" * 12, ciphertext=b"0" * 32
    )
    build = make_build(team=cast.team)
    for _ in range(connection.pool.max_size + 1):
        answer = browser.get(f"/builds/{build.number}/support-bundle/")
        assert answer.status_code == 200
        assert int(answer.headers["Content-Length"]) == len(answer.content)


@pytest.mark.process
def test_the_web_process_waits_for_a_connection_no_longer_than_somebody_looks_at_a_page() -> None:
    process = subprocess.run(
        [
            sys.executable,
            "-c",
            "import controlplane.asgi; from django.db import connection;"
            "print(connection.pool.timeout, connection.pool.max_waiting)",
        ],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": database_url()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.split() == ["1.5", "100"]
