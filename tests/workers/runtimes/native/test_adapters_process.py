"""An engine process with adapters answers by the name in `model`."""

from pathlib import Path

import pytest

from tests.workers.engine.adapter_folders import make_adapter, peft_greedy
from tests.workers.runtimes.native.server import EngineServer

pytestmark = [
    pytest.mark.process,
    pytest.mark.engine,
    # PEFT asks Transformers by a name that is on its way out.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),
]

PROMPT = list(range(5, 60))


def test_the_model_name_picks_the_adapter_and_the_salt_parts_the_cache(
    tiny_folder: Path, tmp_path: Path
) -> None:
    folder = make_adapter(tiny_folder, tmp_path / "legal", seed=4)
    options = ("--adapter", f"legal={folder}", "--lookahead-ngram-size", "4")
    with EngineServer(tiny_folder, log=tmp_path / "log", options=options) as server:
        listed = server.http.get("/v1/models").json()["data"]
        assert [(each["id"], each.get("parent")) for each in listed] == [
            ("tiny", None), ("legal", "tiny"),
        ]  # fmt: skip
        body = {"prompt": PROMPT, "max_tokens": 12, "temperature": 0}
        base = server.post("/v1/completions", model="tiny", **body).json()
        legal = server.post("/v1/completions", model="legal", **body).json()
        assert legal["model"] == "legal"
        assert legal["choices"][0]["text"] != base["choices"][0]["text"]
        tokens = legal["usage"]["completion_tokens"]
        assert len(peft_greedy(tiny_folder, folder, PROMPT, 12)) == tokens
        for salt, hits in (("a", 0), ("b", 0), ("a", len(PROMPT) - 1)):
            server.post("/v1/completions", model="legal", cache_salt=salt, **body)
            assert server.metric("engine_prefix_hit_tokens_total") == hits
