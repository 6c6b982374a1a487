"""A request chooses an adapter by the name in `model`; no other name changes who answers."""

from pathlib import Path

import pytest
from openai import OpenAI

from tests.tiny_adapter import make_tiny_adapter
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.gateway.stage.routes import KEY
from tests.workers.runtimes.native.engine_here import EngineHere

pytestmark = pytest.mark.engine
ADAPTERS = ("legal", "polite")


def test_only_the_name_of_an_adapter_changes_who_answers(house, tmp_path: Path) -> None:
    folder = make_tiny_checkpoint(tmp_path / "model")
    options = [
        word
        for seed, name in enumerate(ADAPTERS)
        for word in ("--adapter", f"{name}={make_tiny_adapter(tmp_path / name, seed=seed)}")
    ]
    with EngineHere(folder, options=options) as server:
        house.publish(server, served_model_name="tiny", adapters=[*ADAPTERS])
        base = f"{house.gateway().url}/m/modelaaa/environments/production/sync/v1"
        with OpenAI(base_url=base, api_key=KEY, max_retries=0) as client:

            def ask(name: str) -> tuple[str, str]:
                answer = client.completions.create(
                    model=name, prompt="The capital of France", max_tokens=12, temperature=0
                )
                return answer.model, answer.choices[0].text

            by_name = {name: ask(name) for name in ("tiny", *ADAPTERS)}
            assert len({text for _, text in by_name.values()}) == 3, "each says its own"
            assert [model for model, _ in by_name.values()] == ["tiny", *ADAPTERS]
            for name in ("gpt-5", "Legal", "legal ", "adapters/legal", "", "tiny:legal"):
                assert ask(name) == by_name["tiny"]
            direct = server.post(
                "/v1/completions", model="legal", prompt="The capital of France", max_tokens=12,
                temperature=0,
            ).json()  # fmt: skip
            assert direct["choices"][0]["text"] == by_name["legal"][1]
            assert {each.id for each in client.models.list()} == {"tiny", *ADAPTERS}
