"""Logs as server-sent events: each line as it comes, and after a break those behind the last."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from itertools import takewhile
from types import MappingProxyType

import httpx
import pytest
from django.conf import settings
from django.test import Client

from apps.builds.models import Build
from apps.telemetry import log_stream
from apps.telemetry.logs import log_append
from controlplane.domain.lifecycle import BuildState
from tests.apps.pages import signed_in
from tests.factories import Cast, make_build, make_cast, make_deployment, make_model, make_replica
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS
from tests.web_server import NO_CERTIFICATES, streaming_server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
EVENTS = {"Accept": "text/event-stream"}
NOTHING: Mapping[str, str] = MappingProxyType({})
PATIENCE = httpx.Timeout(DEADLINE_SECONDS)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """By which streams look again, beat and end."""
    clock = ManualClock()
    for views in ("apps.builds.log_views", "apps.deployments.log_views"):
        monkeypatch.setattr(f"{views}.log_events", partial(log_stream.log_events, clock=clock))
    return clock


@pytest.fixture
def browser(cast: Cast, clock: ManualClock) -> Iterator[httpx.Client]:
    """The owner's browser before a server that streams."""
    cookie = signed_in(cast.owner).cookies[settings.SESSION_COOKIE_NAME].value
    with (
        streaming_server() as url,
        httpx.Client(
            base_url=url,
            cookies={settings.SESSION_COOKIE_NAME: cookie},
            timeout=PATIENCE,
            verify=NO_CERTIFICATES,
        ) as client,
    ):
        yield client


def write(build: Build, sequence: int, text: str) -> None:
    log_append(owner=f"build:{build.id}:fetch", attempt=1, sequence=sequence, text=text)


def look_again(clock: ManualClock) -> None:
    """Have the stream, which has looked and pauses, look once more."""
    clock.wait_for_waiters()
    clock.advance(log_stream.LOOK_SECONDS)


def test_lines_come_as_they_are_written_and_the_stream_ends_with_the_build(
    cast: Cast, browser: httpx.Client, clock: ManualClock
) -> None:
    build = make_build(team=cast.team, state=BuildState.FETCHING)
    write(build, 0, "one\n")
    with browser.stream("GET", f"/builds/{build.number}/log/", headers=EVENTS) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        lines = answer.iter_lines()
        assert '"text":"one"' in next(line for line in lines if line.startswith("data: {"))
        write(build, 1, "two\n")
        look_again(clock)
        assert '"text":"two"' in next(line for line in lines if line.startswith("data: {"))
        Build.objects.filter(id=build.id).update(state=BuildState.SUCCEEDED)
        look_again(clock)
        look_again(clock)
        assert "event: end" in list(lines)


def test_a_browser_that_comes_back_gets_only_what_it_has_not_seen(
    cast: Cast, browser: httpx.Client, clock: ManualClock
) -> None:
    build = make_build(team=cast.team, state=BuildState.SUCCEEDED)
    address = f"/builds/{build.number}/log/"
    write(build, 0, "one\ntwo\n")
    first = whole(browser, address, clock)
    last = next(line for line in first.splitlines() if line.startswith("id: ")).removeprefix("id: ")
    write(build, 1, "three\n")
    later = whole(browser, address, clock, {"Last-Event-ID": last})
    assert "three" in later
    assert "two" not in later


def whole(
    browser: httpx.Client, address: str, clock: ManualClock, headers: Mapping[str, str] = NOTHING
) -> str:
    """Return the log of what has ended: a stream looks twice for its last lines."""
    with browser.stream("GET", address, headers=EVENTS | headers) as answer:
        look_again(clock)
        return "".join(answer.iter_text())


def test_more_logs_are_followed_than_there_are_database_connections(
    cast: Cast, browser: httpx.Client
) -> None:
    build = make_build(team=cast.team, state=BuildState.FETCHING)
    write(build, 0, "one\n")
    most = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
    with ExitStack() as open_streams:
        for _ in range(most + 4):
            answer = open_streams.enter_context(
                browser.stream("GET", f"/builds/{build.number}/log/", headers=EVENTS)
            )
            assert any('"one"' in line for line in answer.iter_lines() if "data: {" in line)
        assert browser.get("/builds/").status_code == 200


def test_nobody_follows_a_log_without_being_signed_in(cast: Cast, browser: httpx.Client) -> None:
    build = make_build(team=cast.team)
    stranger = httpx.get(
        browser.base_url.join(f"/builds/{build.number}/log/"), headers=EVENTS, timeout=PATIENCE
    )
    assert stranger.status_code == 401


def test_a_stream_ends_by_itself_so_that_the_session_is_asked_for_again(
    cast: Cast, browser: httpx.Client, clock: ManualClock
) -> None:
    build = make_build(team=cast.team, state=BuildState.FETCHING)
    with browser.stream("GET", f"/builds/{build.number}/log/", headers=EVENTS) as answer:
        lines = answer.iter_lines()
        assert "event: beat" in lines
        clock.wait_for_waiters()
        clock.advance(log_stream.STREAM_SECONDS)
        assert "event: end" not in list(lines)


def test_a_stream_in_which_nothing_comes_beats(
    cast: Cast, browser: httpx.Client, clock: ManualClock
) -> None:
    build = make_build(team=cast.team, state=BuildState.FETCHING)
    with browser.stream("GET", f"/builds/{build.number}/log/", headers=EVENTS) as answer:
        lines = answer.iter_lines()
        assert "event: beat" in lines
        look_again(clock)
        clock.wait_for_waiters()
        write(build, 0, "one\n")
        look_again(clock)
        assert "event: beat" not in takewhile(lambda line: '"one"' not in line, lines)
        clock.wait_for_waiters()
        clock.advance(log_stream.BEAT_SECONDS)
        assert "event: beat" in lines


def test_a_server_without_streaming_answers_with_what_is_there(cast: Cast) -> None:
    build = make_build(team=cast.team, state=BuildState.FETCHING)
    write(build, 0, "one\n")
    client: Client = signed_in(cast.owner)
    text = client.get(f"/builds/{build.number}/log/", headers=EVENTS).content.decode()
    assert '"one"' in text
    assert text.endswith("event: beat\ndata: \n\n")


def test_a_proxy_that_holds_streams_back_gets_a_short_answer(
    cast: Cast, browser: httpx.Client
) -> None:
    build = make_build(team=cast.team, state=BuildState.FETCHING)
    write(build, 0, "one\n")
    answer = browser.get(f"/builds/{build.number}/log/?once", headers=EVENTS)
    assert '"one"' in answer.text


def test_the_log_of_a_deployment_begins_a_little_before_now_and_names_its_replicas(
    cast: Cast, browser: httpx.Client, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.deployments.log_views.FIRST_LINES", 2)
    deployment = make_deployment(model=make_model(team=cast.team))
    replica = make_replica(deployment=deployment)
    log_append(owner=replica.log_owner, attempt=1, sequence=0, text="one\ntwo\nthree\n")
    address = f"/models/{deployment.model_id}/{deployment.id}/log/"
    with browser.stream("GET", address, headers=EVENTS) as answer:
        lines = answer.iter_lines()
        first = next(line for line in lines if line.startswith("data: {"))
        assert '"one"' not in first
        assert f'"text":"three","level":null,"step":"{replica.id}"' in first
        log_append(owner=replica.log_owner, attempt=1, sequence=1, text="four\n")
        look_again(clock)
        assert '"four"' in next(line for line in lines if line.startswith("data: {"))
    assert signed_in(cast.outsider).get(address).status_code == 404
