"""Our processes' logs carry what is bound, and no secret."""

import io
import logging
from collections.abc import Iterator

import pytest
import structlog

from apps.telemetry.logging import configure


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    configure({"level": "INFO"})
    yield stream
    monkeypatch.undo()
    configure({"level": "INFO"})


def test_a_bound_build_is_on_every_line(output: io.StringIO) -> None:
    with structlog.contextvars.bound_contextvars(build_id="abc"):
        logging.getLogger("plain").info("claimed by %s", "worker-1")
        structlog.get_logger("own").warning("slow", seconds=3)
    assert output.getvalue().splitlines() == [
        "INFO plain claimed by worker-1 build_id=abc",
        "WARNING own slow seconds=3 build_id=abc",
    ]


def test_secrets_are_redacted_in_words_values_and_tracebacks(output: io.StringIO) -> None:
    secret = "hf_" + "a" * 30
    try:
        raise ValueError(f"bad token {secret}")
    except ValueError:
        logging.getLogger("plain").exception("asked with %s", secret)
    structlog.get_logger("own").info("asked", url=f"https://user:{secret}@hub/x")
    text = output.getvalue()
    assert secret not in text
    assert "ValueError: bad token hf_[redacted]" in text
