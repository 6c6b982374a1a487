"""In float32 the engine says what Transformers and PEFT say, token for token."""

import json
import random
from pathlib import Path

import pytest

from tests.workers.engine.adapter_folders import make_adapter, peft_greedy
from tests.workers.engine.asking import Asked, make_engine, start_engine, transformers_greedy
from tests.workers.engine.reading_metrics import metric
from tests.workers.engine.shapes import SHAPES, make_shape
from workers.engine import scheduler
from workers.runtimes.native.drafting import drafters

pytestmark = [
    pytest.mark.engine,
    # PEFT asks Transformers by a name that is on its way out.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),
]

PROMPT_LENGTHS = (1, 3, 17, 40, 90)
ANSWER = 20


ONE_OF_A_KIND = ("llama", "qwen3", "gemma3", "phi3-window")
MORE = [
    each if each in ONE_OF_A_KIND else pytest.param(each, marks=pytest.mark.long) for each in SHAPES
]
"""One of each kind of attention and rope; the others are asked in `make test-long`."""


@pytest.fixture(scope="module")
def shape(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shape(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("shape", MORE, indirect=True)
def test_batched_greedy_equals_generate(shape: Path) -> None:
    prompts = _prompts()
    engine = start_engine(shape)
    request = [Asked(engine, prompt, max_tokens=30) for prompt in prompts]
    answers = [one.finish().tokens for one in request]
    engine.stop()
    assert answers == [transformers_greedy(shape, prompt, 30) for prompt in prompts]


@pytest.mark.parametrize("shape", MORE, indirect=True)
def test_alone_and_in_small_pieces_gives_the_same_tokens(shape: Path) -> None:
    prompts = _prompts()
    roomy = start_engine(shape)
    alone = [Asked(roomy, prompt, max_tokens=20).finish().tokens for prompt in prompts]
    roomy.stop()
    narrow = start_engine(shape, max_num_tokens=7, max_batch_size=3)
    request = [Asked(narrow, prompt, max_tokens=20) for prompt in prompts]
    assert [one.finish().tokens for one in request] == alone
    narrow.stop()


def test_rows_on_both_sides_of_a_long_rope_share_steps_and_no_tokens(tmp_path: Path) -> None:
    folder = make_shape("phi3-longrope", tmp_path)
    long = [*_prompts()[-1][:12]] * 7  # repeats, so that much of it is guessed
    prompts = [long[:40], long[:63], long[:64], long[:65], long]
    engine = start_engine(folder, make_drafter=drafters(8, 1), max_num_tokens=24)
    request = [Asked(engine, prompt, max_tokens=40, ignore_eos=True) for prompt in prompts * 2]
    answers = [one.finish().tokens for one in request]
    engine.stop()
    expected = [transformers_greedy(folder, prompt, 40, min_new_tokens=40) for prompt in prompts]
    assert answers == expected * 2


@pytest.mark.parametrize("shape", MORE, indirect=True)
def test_adapters_and_a_full_cache_give_the_tokens_of_peft(
    shape: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "GROWTH_TOKENS", 4)  # short answers have to ask for more too
    adapter = make_adapter(shape, tmp_path / "legal", seed=2, target_modules="all-linear")
    pairs = [(prompt, name) for prompt in _prompts()[1:4] for name in (None, "legal")]
    engine = make_engine(
        shape, adapters={"legal": adapter}, max_num_tokens=16, max_batch_size=4,
        scheduler_policy="max_utilization", kv_cache_bytes=80 * _bytes_per_token(shape),
    )  # fmt: skip
    request = [
        Asked(engine, prompt, max_tokens=ANSWER, ignore_eos=True, generation={"adapter": name})
        for prompt, name in pairs
    ]
    engine.start()  # only now, so that all rows want the cache at once
    answers = [one.finish().tokens for one in request]
    assert metric(engine, "engine_preemptions_total") > 0
    engine.stop()
    assert answers == [
        peft_greedy(shape, adapter, prompt, ANSWER, eos_token_id=None)
        if name
        else transformers_greedy(shape, prompt, ANSWER, eos_token_id=None)
        for prompt, name in pairs
    ]
    assert answers[::2] != answers[1::2], "the adapter changes what is said"


def _bytes_per_token(shape: Path) -> int:
    config = json.loads((shape / "config.json").read_text())
    head = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    return int(config["num_hidden_layers"] * 2 * config["num_key_value_heads"] * head * 4)


def _prompts() -> list[list[int]]:
    choice = random.Random(5)
    return [[choice.randrange(3, 390) for _ in range(length)] for length in PROMPT_LENGTHS]
