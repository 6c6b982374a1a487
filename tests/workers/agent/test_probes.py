"""What is asked of an engine beside the agent's loop, and what becomes of a strange answer."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from workers.agent.probes import Probe


def test_an_answer_that_cannot_be_read_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def log() -> str:
        raise ValueError("not a log")

    probe = Probe("127.0.0.1", 9, "vllm", log)
    monkeypatch.setattr(probe, "_get", lambda path: b"")
    monkeypatch.setattr("workers.agent.probes.UNTIL_READY_SECONDS", 0)
    for _ in range(3):
        with ThreadPoolExecutor(1) as pool:
            probe.look(pool)
    assert not probe.is_ready
    assert caplog.text.count("engine at 127.0.0.1:9: its answer cannot be read") == 1
    assert "not a log" in caplog.text
