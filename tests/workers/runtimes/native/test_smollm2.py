"""The GGUF of the wheel becomes a folder that the engine answers sensibly from."""

import json
from pathlib import Path

import pytest
import torch
from openai.types.chat import ChatCompletionFunctionToolParam
from transformers import AutoModelForCausalLM

from tests.workers.engine.asking import Asked, start_engine
from tests.workers.runtimes.native.server import EngineServer
from workers.runtimes.native.gguf_to_hf import NoGguf, convert, main

WEATHER: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get current weather",
        "parameters": {
            "type": "object",
            "properties": {"location": {"type": "string"}},
            "required": ["location"],
        },
    },
}


@pytest.mark.long
@pytest.mark.engine
def test_the_bundled_model_knows_the_capital_of_france(tmp_path: Path) -> None:
    folder = tmp_path / "SmolLM2"
    assert main(["--output", str(folder)]) == 0
    assert not list(tmp_path.glob(".SmolLM2*"))
    engine = start_engine(folder, kv_cache_bytes=64 << 20)
    question = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = engine.codec.encode_rendered(engine.codec.render_chat(question, {}))
    answers = [Asked(engine, prompt, max_tokens=30) for _ in range(3)]
    assert {one.finish().text for one in answers} == {"The capital of France is Paris."}
    engine.stop()
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    expected = model.generate(torch.tensor([prompt]), max_new_tokens=30, do_sample=False)
    assert answers[0].tokens == expected[0, len(prompt) :].tolist()


@pytest.mark.long
@pytest.mark.process
@pytest.mark.engine
def test_the_bundled_model_asks_for_the_weather_in_boston(tmp_path: Path) -> None:
    folder = tmp_path / "SmolLM2"
    assert main(["--output", str(folder)]) == 0
    options = ("--generic-tools", "--kv-cache-bytes", str(64 << 20))
    with EngineServer(folder, log=tmp_path / "engine.log", options=options) as server:
        answer = server.openai.chat.completions.create(
            model="tiny", temperature=0, tools=[WEATHER],
            messages=[{"role": "user", "content": "What is the weather in Boston?"}],
        )  # fmt: skip
    (call,) = answer.choices[0].message.tool_calls or []
    assert call.type == "function"
    assert call.function.name == "get_weather"
    assert json.loads(call.function.arguments) == {"location": "Boston"}


@pytest.mark.engine
def test_a_folder_that_is_there_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text("{}")
    convert(Path("no such.gguf"), tmp_path)
    assert "nothing to do" in capsys.readouterr().out


@pytest.mark.engine
def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoGguf, match=r"no such\.gguf"):
        convert(tmp_path / "no such.gguf", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
