"""Every script in the five source documents, with only host and key changed.

Source: docs.baseten.co as of 2026-11-27. They ask at an environment's URL of a gateway; the engine
is a real process, whose checkpoint is random and finds every token equally likely, so that each
answer comes to an end by itself.
"""

import json
import os
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.workers.runtimes.native.server import EngineServer

pytestmark = pytest.mark.engine

DATA = Path(__file__).parent / "data"
HOST = re.compile(r"https://model-xxxxxx\.api\.baseten\.co/environments/production(?=/sync)")


def test_chat_and_stream(environment: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = _run("engine-builder-llm-overview-chat-and-stream", environment)
    assert names["response"].choices[0].finish_reason in ("stop", "length")
    assert names["chunk"].choices[0].finish_reason in ("stop", "length")
    assert capsys.readouterr().out.strip()


def test_a_user_is_extracted_into_the_pydantic_model(
    environment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    user = _run("engine-builder-llm-overview-extract-user", environment)["user"]
    assert isinstance(user.age, int)
    printed = f"Name: {user.name}, Age: {user.age}, Email: {user.email}\n"
    assert capsys.readouterr().out == printed


def test_code_is_written_with_guesses(
    environment: str, indifferent: EngineServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = indifferent.metric("engine_draft_tokens_total")
    response = _run("lookahead-decoding-code", environment)["response"]
    assert response.usage.completion_tokens == 200
    assert indifferent.metric("engine_draft_tokens_total") > before
    assert capsys.readouterr().out == f"{response.choices[0].message.content}\n"


def test_the_client_that_is_installed_is_the_one_that_is_asked_with_here() -> None:
    command = (DATA / "performance-optimization-install.txt").read_text().split()
    assert command[:2] == ["pip", "install"]
    assert [version(name) for name in command[2:]]


def test_structured_output_parses_to_the_pydantic_model(
    environment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = _run("engine-builder-llm-overview-structured-output", environment)
    task = names["task"]
    assert capsys.readouterr().out == f"Task: {task.title}\nPriority: {task.priority}\n"
    assert set(task.model_dump()) == {"title", "priority", "due_date", "description"}


def test_function_calling_prints_a_call(
    environment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = _run("engine-builder-llm-overview-function-calling", environment)
    arguments = json.loads(names["tool_call"].function.arguments)
    assert capsys.readouterr().out.startswith("Function: get_weather\nArguments: {")
    assert set(arguments) == {"location"}


def test_the_performance_client_asks_twenty_at_once(
    environment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = _run("engine-builder-llm-overview-batch-chat", environment)
    assert len(names["response"].data) == 20
    assert "Response 20: " in capsys.readouterr().out


def _run(name: str, environment: str) -> dict[str, Any]:
    """Give back the names that a block leaves behind."""
    text, hosts = HOST.subn(environment, (DATA / f"{name}.txt").read_text())
    assert hosts == 1
    names: dict[str, Any] = {"os": os}  # one block leaves the import to the block above it
    exec(compile(text, name, "exec"), names)
    # Pools of connections that the blocks leave open would be warnings.
    close = getattr(names["client"], "close", None)
    if close is not None:
        close()
    return names
