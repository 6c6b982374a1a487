"""Silence counts only where somebody listened all the while."""

import asyncio
from typing import Any

import pytest

from apps.fleet.models import Gateway, Worker
from apps.fleet.selectors import (
    SILENT_SECONDS,
    builder_is_there,
    gateway_list,
    gateways_have_applied,
    gateways_live,
    node_list,
    nodes_alive,
    nodes_for,
    nodes_silent,
    worker_list,
)
from apps.fleet.services.listening import BEAT_SECONDS
from apps.fleet.services.workers import worker_arrived
from controlplane.processes.listening import keep_saying
from tests.apps.fleet.passing_time import Listener
from tests.factories_serving import make_gateway, make_serving_node
from tests.manual_clock import ManualClock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker"), pytest.mark.wide]
ALL = ("a", "b", "g")


class Enough(Exception):
    """Ends what would go on for ever."""


@pytest.fixture
def web() -> Listener:
    """It has heard two nodes and a gateway for longer than a silence lasts."""
    make_serving_node(name="a")
    make_serving_node(name="b")
    make_gateway(name="g")
    listener = Listener()
    listener.listen(SILENT_SECONDS + 5, while_speak=ALL)
    return listener


def silent() -> set[str]:
    """Return who is silent, as every selector says it alike."""
    nodes = set(nodes_silent().values_list("name", flat=True))
    assert nodes == {each.name for each in node_list() if not each.is_alive}
    assert nodes == {"a", "b"} - set(nodes_alive().values_list("name", flat=True))
    assert nodes == {"a", "b"} - {each.name for each in nodes_for(kind="CPU", pool="default")}
    gateways = {each.name for each in gateway_list() if not each.is_alive}
    assert gateways == {"g"} - set(gateways_live().values_list("name", flat=True))
    return nodes | gateways


def test_who_says_nothing_while_others_are_heard_is_silent(web: Listener) -> None:
    web.listen(SILENT_SECONDS - 1, while_speak=("b", "g"))
    assert silent() == set()
    web.listen(1, while_speak=("b", "g"))
    assert silent() == {"a"}
    web.hear("a")
    assert silent() == set()


@pytest.mark.parametrize("seconds", [20, 3600, 40 * 24 * 3600])
def test_nobody_is_silent_for_a_time_in_which_nobody_listened(web: Listener, seconds: int) -> None:
    web.pass_seconds(seconds)
    assert silent() == set(), "a sweep before the first beat"
    web.beat()
    assert silent() == set()
    web.listen(SILENT_SECONDS - 1, while_speak=("g",))
    assert silent() == set(), "they have as long to speak as ever"
    web.listen(1, while_speak=("g",))
    assert silent() == {"a", "b"}


def test_a_silence_is_not_put_together_from_two_times_of_listening(web: Listener) -> None:
    for _ in range(4):
        web.listen(SILENT_SECONDS - 1, while_speak=("b", "g"))
        web.pass_seconds(20)
    assert silent() == set()


def test_who_was_silent_before_a_gap_is_so_after_it_until_it_speaks(web: Listener) -> None:
    web.listen(SILENT_SECONDS, while_speak=("b", "g"))
    web.pass_seconds(20)
    web.listen(3)
    assert silent() == {"a"}
    web.hear("a")
    assert silent() == set()


def test_where_all_fall_silent_at_once_the_listener_is_cut_off(web: Listener) -> None:
    web.listen(10 * SILENT_SECONDS)
    assert silent() == set()
    web.listen(SILENT_SECONDS + 1, while_speak=("g",))
    assert silent() == {"a", "b"}, "it hears again, and not from these"


def test_a_gateway_that_could_not_poll_is_waited_for_all_the_same(web: Listener) -> None:
    Gateway.objects.update(applied_version=1)
    web.pass_seconds(20)
    web.beat()
    assert not gateways_have_applied(2)
    web.listen(SILENT_SECONDS, while_speak=("a",))
    assert gateways_have_applied(2)


def test_workers_are_judged_likewise_and_not_forgotten_for_the_databases_absence(
    web: Listener,
) -> None:
    worker_arrived(name="build.default@a", version="1")
    web.hear("build.default@a")
    web.pass_seconds(2 * 24 * 3600)
    worker_arrived(name="control@a", version="1")
    web.listen(3, while_speak=ALL)
    assert builder_is_there()
    assert Worker.objects.count() == 2
    web.listen(SILENT_SECONDS, while_speak=(*ALL, "build.default@a"))
    assert {each.name: each.is_alive for each in worker_list()} == {
        "build.default@a": True,
        "control@a": False,
    }


def test_a_databases_clock_that_jumps_ahead_and_back_makes_nobody_silent(web: Listener) -> None:
    web.pass_seconds(40 * 24 * 3600)
    web.listen(SILENT_SECONDS + 1, while_speak=ALL)
    assert silent() == set()
    web.pass_seconds(-40 * 24 * 3600)
    web.hear(*ALL)
    web.listen(3, while_speak=ALL)
    assert silent() == set()
    web.listen(SILENT_SECONDS, while_speak=("b", "g"))
    assert silent() == {"a"}


def test_several_web_processes_listen_together(web: Listener) -> None:
    for _ in range(SILENT_SECONDS):
        web.beat()
        web.listen(1, while_speak=("b", "g"))
    assert silent() == {"a"}


def test_a_web_process_says_so_each_second() -> None:
    clock, statement = ManualClock(sleeping_moves_it=True), []

    def say_it() -> None:
        statement.append(clock.monotonic())
        if len(statement) == 3:
            raise Enough

    with pytest.raises(Enough):
        asyncio.run(keep_saying(say_it, clock=clock))
    assert [later - statement[0] for later in statement] == [0, BEAT_SECONDS, 2 * BEAT_SECONDS]


def test_a_beat_takes_one_statement(web: Listener, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        web.beat()
