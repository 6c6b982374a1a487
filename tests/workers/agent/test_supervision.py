"""The agent's loop by a clock that the test moves: when it speaks, waits, gives up and kills."""

from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.workers.agent.one_agent import OneAgent, runner_of
from tests.workers.gateway.stage.engine import Engine, Script
from workers.agent import inventory
from workers.agent.capped_log import CappedLog
from workers.agent.enrollment import EnrolledControlPlane
from workers.agent.folders import write_json
from workers.agent.identity import is_alive
from workers.agent.supervision import KILL_SECONDS, REPORT_SECONDS, STEP_SECONDS, Agent

GIB = 1024**3
GPU = {"uuid": "GPU-1", "kind": "H100", "used_bytes": GIB, "clean": True, "used_by": []}


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The one GPU of the host, for the test to change; nothing else of a host moves."""
    values = dict(GPU)
    monkeypatch.setattr(inventory, "devices", lambda name: [dict(values)])
    return values


@pytest.fixture
def one(device: dict[str, Any], tmp_path: Path) -> OneAgent:
    return OneAgent(tmp_path)


@pytest.mark.parametrize(
    ("change", "reports"),
    [
        ({"used_by": [{"pid": 4242}], "clean": False}, 2),
        ({"used_bytes": 70 * GIB}, 2),  # a container may show no process
        ({"used_bytes": GIB + 1}, 1),
    ],
)
def test_who_comes_to_a_device_is_told_at_once(
    one: OneAgent, device: dict[str, Any], change: Mapping[str, Any], reports: int
) -> None:
    one.agent.step()
    one.agent.step()
    device.update(change)
    one.agent.step()
    assert len(one.plane.told) == reports


def test_what_does_not_change_is_told_every_three_seconds(one: OneAgent) -> None:
    one.run(10)
    assert one.plane.asked_at == [0, 3, 6, 9]
    assert set(one.hints.waited) == {1.0}


def test_a_hint_is_followed_at_once_and_the_next_report_counts_from_there(one: OneAgent) -> None:
    one.run(6, {1: one.hints.note})
    assert one.plane.asked_at == [0, 1, 4]


def test_a_control_plane_that_is_away_is_asked_less_and_less_often(
    one: OneAgent, device: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")

    def go() -> None:
        one.plane.is_away = True

    def come() -> None:
        one.plane.is_away = False

    change = {"used_by": [{"pid": 4242}], "clean": False}
    one.run(28, {1: go, 10: lambda: device.update(change), 20: come})
    # After 0.5, 1, 2, 4 and then 5 seconds, as the looks of each second let it; a change that
    # would be told at once waits as well.
    assert one.plane.asked_at == [0, 3, 4, 5, 7, 11, 16, 21, 24, 27]
    assert caplog.text.count("the control plane is away") == 1
    assert caplog.text.count("the control plane is back") == 1


def test_logs_wait_for_a_control_plane_that_is_away(one: OneAgent) -> None:
    folder = one.leave_behind("aaaaa")
    with runner_of(folder):
        CappedLog(folder.log).write(b"loading\n")
        one.plane.is_away = True
        lines: list[str] = []

        def come() -> None:
            lines.append(one.plane.log)
            one.plane.is_away = False

        one.run(20, {10: come})
    assert lines == [""]
    assert one.plane.log == "loading\n"


def test_logs_that_go_slowly_hold_up_no_report_and_no_look(
    one: OneAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [one.leave_behind(name) for name in ("aaaaa", "bbbbb", "ccccc")]
    shipped: list[str] = []

    def slowly(*, replica_id: str, **piece: object) -> None:
        one.clock.advance(4)
        shipped.append(replica_id)

    monkeypatch.setattr(one.plane, "ship_log", slowly)
    with ExitStack() as runners:
        for folder in folders:
            runners.enter_context(runner_of(folder))
            CappedLog(folder.log).write(b"loading\n" * 100_000)
        one.run(60)
    later = one.plane.asked_at[1:]
    pauses = [after - before for before, after in zip(one.plane.asked_at, later, strict=False)]
    assert max(pauses) <= REPORT_SECONDS + 4 + STEP_SECONDS
    assert {*shipped[:3]} == {"aaaaa", "bbbbb", "ccccc"}, "each has its turn"


def test_the_last_lines_of_a_long_log_go_in_several_steps(
    one: OneAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = one.leave_behind("aaaaa")
    CappedLog(folder.log).write(b"loading\n" * 100_000)
    ship = one.plane.ship_log

    def slowly(**piece: Any) -> None:
        one.clock.advance(4)
        ship(**piece)

    monkeypatch.setattr(one.plane, "ship_log", slowly)
    with runner_of(folder):
        one.run(120, {1: one.plane.wanted.clear})
    assert one.plane.log == "loading\n" * 100_000
    assert not folder.path.exists()


def test_a_replica_that_starts_is_looked_at_four_times_a_second(one: OneAgent) -> None:
    with runner_of(one.leave_behind("aaaaa")):
        one.run(1)
    assert one.hints.waited == [0.25] * 4
    assert one.plane.states() == ["starting"]


def test_nothing_is_stopped_because_the_control_plane_is_away(one: OneAgent) -> None:
    folder = one.leave_behind("aaaaa")
    with runner_of(folder):
        one.plane.is_away = True
        one.run(60)
        one.plane.is_away = False
        one.agent.step()
        assert one.plane.states() == ["starting"]
        assert folder.read("exit") is None


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda call: call.answer({"message": "No."}, 401), id="401"),
        pytest.param(lambda call: call.answer({"message": "No."}, 403), id="403"),
        pytest.param(lambda call: call.answer({"message": "No."}, 404), id="404"),
        pytest.param(lambda call: call.answer({"message": "Gone."}, 410), id="410 of a stranger"),
        pytest.param(lambda call: call.answer({"message": "No."}, 500), id="500"),
        pytest.param(lambda call: call.answer({"message": "Away."}, 503), id="503"),
        pytest.param(lambda call: call.answer(b"<html>", 200), id="200 of another program"),
        pytest.param(lambda call: call.answer({"replicas": None}, 200), id="200 without sense"),
        pytest.param(lambda call: call.answer(b"", 302, "location: /\r\n"), id="302"),
        pytest.param(lambda call: call.connection.close(), id="nothing"),
    ],
)
def test_no_answer_but_a_signed_removal_stops_a_runner(one: OneAgent, answer: Script) -> None:
    folder = one.leave_behind("aaaaa")
    with closing(Engine(answer)) as plane, runner_of(folder):
        url = f"http://127.0.0.1:{plane.port}"
        credential = {"node_id": "n1", "credential": "known"}
        write_json(one.settings.home / "credential.json", credential)
        enrolled = EnrolledControlPlane(one.settings.model_copy(update={"control_plane_url": url}))
        one.agent = Agent(one.settings, enrolled, one.hints, clock=one.clock)
        one.run(60)
        assert plane.calls
        assert not (folder.path / "stop").exists()
        assert folder.read("exit") is None
        runner = folder.runner()
        assert runner is not None
        assert is_alive(runner)


def test_a_removed_node_ends_what_it_runs_and_forgets_its_credential_when_it_has(
    one: OneAgent,
) -> None:
    folder = one.leave_behind("aaaaa")

    def remove() -> None:
        assert not one.plane.has_left
        one.plane.has_removed_it = True

    with runner_of(folder):
        one.run(20, {1: remove})
    assert not folder.path.exists()
    assert one.plane.has_left


def test_what_nobody_wants_any_more_is_ended_told_and_forgotten(one: OneAgent) -> None:
    folder = one.leave_behind("aaaaa")
    with runner_of(folder):
        one.run(10, {1: one.plane.wanted.clear})
    assert one.plane.states()[-1] == "stopped"
    assert one.plane.told[-1]["replicas"] == []
    assert not folder.path.exists()


def test_an_agent_that_ends_its_engines_says_so_and_waits_no_longer_than_they_take(
    one: OneAgent,
) -> None:
    folder = one.leave_behind("aaaaa")
    with runner_of(folder):
        one.run(1)
        one.agent.stop_engines()
    assert one.plane.states()[-1] == "stopped"
    assert sum(one.clock.slept) < one.settings.engine_drain_seconds


def test_an_agent_that_ends_its_engines_kills_what_does_not_drain(one: OneAgent) -> None:
    folder = one.leave_behind("aaaaa")
    with runner_of(folder, is_stuck=True):
        one.run(1)
        one.agent.stop_engines()
    assert one.plane.states()[-2:] == ["starting", "stopped"]
    assert sum(one.clock.slept) == pytest.approx(one.settings.engine_drain_seconds + 5, abs=1)


def test_an_agent_that_cannot_kill_leaves_in_the_end(
    one: OneAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.replica.Replica.kill", lambda replica: None)
    folder = one.leave_behind("aaaaa")
    with runner_of(folder, is_stuck=True):
        one.run(1)
        one.agent.stop_engines()
    assert one.plane.states()[-1] == "draining"
    lasted = sum(one.clock.slept)
    assert lasted == pytest.approx(one.settings.engine_drain_seconds + 5 + KILL_SECONDS, abs=1)
