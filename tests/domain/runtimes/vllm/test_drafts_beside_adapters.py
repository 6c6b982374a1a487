"""Adapters beside drafts: a step that vLLM would refuse at its start is raised, and said."""

from typing import Any

import pytest

from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_vllm
from controlplane.domain.rules.speculation.lookahead import RECOMMENDED
from controlplane.domain.runtimes import RUNTIMES, Start
from controlplane.domain.runtimes.launch import Launch
from controlplane.domain.spec import parse_mapping

_STEP = "trt_llm.build.max_num_tokens"
DRAFTS = {"trt_llm.build.speculator": RECOMMENDED}
ADAPTERS = {"trt_llm.build.lora_adapters": {"legal": {"source": "LOCAL", "repo": "/l"}}}


def example(*asked: dict[str, Any], batch: int = 256) -> Example:
    config: dict[str, Any] = {
        "resources.accelerator": "H100", "trt_llm.build.max_batch_size": batch,
    }  # fmt: skip
    for each in asked:
        config |= each
    return on_vllm(Example(config=config, checkpoint=LLAMA_8B))


def launch(of: Example) -> Launch:
    spec = parse_mapping(of.content).spec
    assert spec is not None
    start = Start(model_dir="/m", host="127.0.0.1", port=1, python="p", threads=1, memory_bytes=1)
    return RUNTIMES["vllm"].render(spec, LLAMA_8B, start)


def step_of(made: Launch) -> int:
    return int(made.argv[made.argv.index("--max-num-batched-tokens") + 1])


@pytest.mark.parametrize(
    ("asked", "batch", "step"),
    [
        ((DRAFTS, ADAPTERS), 256, 256 * 42),  # 41 drafts of window 3, n-gram 8, verification 3
        ((DRAFTS, ADAPTERS), 64, 8192),
        ((DRAFTS,), 256, 8192),
        ((ADAPTERS,), 256, 8192),
    ],
)
def test_a_step_holds_a_token_and_all_drafts_of_every_request_where_there_are_adapters(
    asked: tuple[dict[str, Any], ...], batch: int, step: int
) -> None:
    of = example(*asked, batch=batch)
    made = launch(of)
    assert step_of(made) == step
    fields = {each.field for each in made.changed}
    used = {each.field: each.effective for each in examine(of.content, of.known).effective}
    assert (_STEP in fields) == (step != 8192)
    assert used.get(_STEP, 8192) == step


@pytest.mark.parametrize(
    ("adapters", "own", "said"),
    [
        (1, {}, []),
        (3, {}, ["3"]),
        (300, {}, ["256"]),  # no more than the requests of a step
        (3, {"max-cpu-loras": 2}, ["2"]),
        (3, {"max_loras": 4}, ["4"]),
    ],
)
def test_as_many_adapters_share_a_step_as_the_config_has(
    adapters: int, own: dict[str, int], said: list[str]
) -> None:
    named = {f"a{number}": {"source": "LOCAL", "repo": "/l"} for number in range(adapters)}
    of = example({"trt_llm.build.lora_adapters": named, "enginehouse.vllm_args": own})
    words = launch(of).argv
    assert [words[at + 1] for at, word in enumerate(words) if word == "--max-loras"] == said
