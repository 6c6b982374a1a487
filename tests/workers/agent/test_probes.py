"""What is asked of an engine beside the agent's loop, and what becomes of a strange answer."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.manual_clock import ManualClock
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.engine import Engine as StandIn
from workers.agent.patience import LONGEST_STEP_SECONDS
from workers.agent.probes import ONCE_READY_SECONDS, UNTIL_READY_SECONDS, Probe


class Engine:
    """An engine as the probe asks it, which answers nothing until it is up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = ManualClock()
        self.is_up = False
        self.asked: Counter[str] = Counter()
        self.probe = Probe("127.0.0.1", 9, "native", lambda: "", clock=self.clock)
        monkeypatch.setattr(self.probe, "_get", self._answer)

    def look(self, *, seconds: float, every: float) -> None:
        """Look for so long, every so often."""
        for _ in range(round(seconds / every)):
            # Its end waits for the question.
            with ThreadPoolExecutor(1) as pool:
                self.probe.look(pool)
            self.clock.advance(every)

    def _answer(self, path: str) -> bytes | None:
        self.asked[path] += 1
        return b"{}" if self.is_up else None


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    return Engine(monkeypatch)


def test_an_answer_that_cannot_be_read_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def log() -> str:
        raise ValueError("not a log")

    clock = ManualClock()
    probe = Probe("127.0.0.1", 9, "vllm", log, clock=clock)
    monkeypatch.setattr(probe, "_get", lambda path: b"")
    for _ in range(3):
        with ThreadPoolExecutor(1) as pool:
            probe.look(pool)
        clock.advance(UNTIL_READY_SECONDS)
    assert not probe.is_ready
    assert caplog.text.count("engine at 127.0.0.1:9: its answer cannot be read") == 1
    assert "not a log" in caplog.text


def test_an_engine_is_asked_often_until_it_is_ready_and_seldom_afterwards(engine: Engine) -> None:
    engine.look(seconds=10, every=0.25)
    assert engine.asked == {"/health": 40}
    assert not engine.probe.is_ready
    engine.is_up = True
    engine.look(seconds=20, every=0.25)
    assert engine.probe.is_ready
    assert engine.asked == {"/health": 45, "/info": 3, "/metrics": 2}


def test_what_a_log_says_after_the_first_answer_is_read_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []
    clock = ManualClock()
    probe = Probe("127.0.0.1", 9, "vllm", lambda: "".join(lines), clock=clock)
    monkeypatch.setattr(probe, "_get", lambda path: b"{}")
    told = []
    for line in ("", "GPU KV cache size: 3,076,000 tokens"):
        lines.append(line)
        with ThreadPoolExecutor(1) as pool:
            probe.look(pool)
        clock.advance(ONCE_READY_SECONDS)
        told.append((probe.report or {}).get("kv_tokens"))
    assert told == [None, 3_076_000]


def test_what_an_engine_says_of_itself_leaves_room_for_the_other_replicas(
    monkeypatch: pytest.MonkeyPatch, engine: Engine
) -> None:
    said = {
        "labels": [f"label {number}" for number in range(200_000)],
        "version": "\ud800" + "9" * 3_000_000,
        "kv_tokens": "many", "weights_bytes": True, "kv_cache_bytes": float("nan"),
        "dtype": ["float32"], "threads": 2, "max_seq_len": 10**30,
        **{f"field {number}": number for number in range(1000)},
    }  # fmt: skip
    monkeypatch.setattr(engine.probe, "_get", lambda path: json.dumps(said).encode())
    engine.look(seconds=1, every=0.25)
    assert engine.probe.is_ready
    told = engine.probe.report
    assert told is not None
    assert (told["version"], told["threads"]) == ("9" * 63, 2)
    assert told.keys().isdisjoint({"labels", "kv_tokens", "weights_bytes", "kv_cache_bytes"})
    assert len(json.dumps(told)) < 2000


@pytest.mark.parametrize("answer", [b"[" * 100_000, b"9" * 5000, b'{"a": ' * 100_000, b"\xff"])
def test_an_engine_whose_words_cannot_be_read_is_ready_without_them(
    monkeypatch: pytest.MonkeyPatch, engine: Engine, answer: bytes
) -> None:
    monkeypatch.setattr(engine.probe, "_get", lambda path: answer)
    engine.look(seconds=1, every=0.25)
    assert engine.probe.is_ready
    assert engine.probe.report is None


def test_silence_is_counted_from_the_last_answer(engine: Engine) -> None:
    engine.is_up = True
    engine.look(seconds=5, every=5)
    assert engine.probe.silent_seconds == 0
    engine.is_up = False
    engine.look(seconds=20, every=5)
    assert engine.probe.silent_seconds == 20


def test_of_a_time_in_which_nobody_looked_only_the_first_seconds_count(engine: Engine) -> None:
    engine.is_up = True
    engine.look(seconds=5, every=5)
    engine.is_up = False
    engine.clock.advance(3600)
    engine.look(seconds=5, every=5)
    assert engine.probe.silent_seconds == LONGEST_STEP_SECONDS


def test_an_engine_that_answers_without_end_is_not_ready(caplog: pytest.LogCaptureFixture) -> None:
    def script(call: Call) -> None:
        call.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            call.send(b"x" * 65536)

    with closing(StandIn(script)) as stand_in:
        probe = Probe("127.0.0.1", stand_in.port, "native", lambda: "", clock=ManualClock())
        with ThreadPoolExecutor(1) as pool:
            probe.look(pool)
    assert not probe.is_ready
    assert caplog.text == ""
