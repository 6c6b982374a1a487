"""Rows with different adapters share a forward and answer as PEFT does."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.workers.engine.adapter_folders import make_adapter, peft_greedy
from tests.workers.engine.asking import Asked, start_engine, transformers_greedy
from workers.engine.engine import Engine
from workers.engine.errors import CheckpointRefused
from workers.runtimes.native.drafting import drafters

pytestmark = [
    pytest.mark.engine,
    # PEFT asks Transformers by a name that is on its way out.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),
]

PROMPTS = ([5, 6, 7, 8, 9], [1, 321, 71, 84, 42, 17, 33], list(range(3, 50)))
WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


@pytest.fixture(scope="module")
def adapters(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Different ranks, modules and scalings; the middle one names a rank of its own for a layer."""
    base = tmp_path_factory.mktemp("adapters")
    return {
        "all": make_adapter(checkpoint, base / "all", seed=1),
        "patterns": make_adapter(
            checkpoint, base / "patterns", seed=2, r=8, target_modules=["q_proj", "down_proj"],
            rank_pattern={"layers.1.self_attn.q_proj": 2}, alpha_pattern={"down_proj": 40},
        ),
        "rslora": make_adapter(
            checkpoint, base / "rslora", seed=3, r=2, use_rslora=True, target_modules=["v_proj"],
            lora_alpha=30,
        ),
    }  # fmt: skip


@pytest.fixture(scope="module")
def adapted(checkpoint: Path, adapters: Mapping[str, Path]) -> Iterator[Engine]:
    engine = start_engine(
        checkpoint, adapters=adapters, max_batch_size=16, make_drafter=drafters(3, 1)
    )
    yield engine
    engine.stop()


def _ask(engine: Engine, prompt: list[int], adapter: str | None) -> Asked:
    return Asked(engine, prompt, max_tokens=20, generation={"adapter": adapter})


def test_mixed_rows_answer_as_alone_and_as_peft(
    adapted: Engine, checkpoint: Path, adapters: Mapping[str, Path]
) -> None:
    pairs = [(prompt, name) for prompt in PROMPTS for name in (None, *adapters)]
    mixed = [one.finish().tokens for one in [_ask(adapted, *pair) for pair in pairs]]
    assert mixed == [_ask(adapted, *pair).finish().tokens for pair in pairs]
    expected = [
        peft_greedy(checkpoint, adapters[name], prompt, 20)
        if name
        else transformers_greedy(checkpoint, prompt, 20)
        for prompt, name in pairs
    ]
    assert mixed == expected
    assert len({tuple(answer) for answer in mixed}) == len(pairs), "the adapters say different"


@pytest.mark.parametrize("settings", [
    {"max_num_tokens": 7},
    {"scheduler_policy": "max_utilization", "kv_cache_bytes": 130 * 512, "max_num_tokens": 16},
])  # fmt: skip
def test_pieces_and_preemption_change_no_adapted_answer(
    adapted: Engine, checkpoint: Path, adapters: Mapping[str, Path], settings: Mapping[str, Any]
) -> None:
    engine = start_engine(checkpoint, adapters=adapters, **settings)
    pairs = [(prompt, name) for prompt in PROMPTS for name in (None, *adapters)]
    answers = [_ask(engine, *pair) for pair in pairs]
    for one, pair in zip(answers, pairs, strict=True):
        assert one.finish().tokens == _ask(adapted, *pair).finish().tokens
    engine.stop()


def test_the_report_names_the_adapters(adapted: Engine) -> None:
    report = adapted.report()["adapters"]
    assert report["names"] == ["all", "patterns", "rslora"]
    assert report["bytes"] > 0


def _set(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps(config | changes))


def _retensor(folder: Path, name: str, tensor: torch.Tensor | None) -> None:
    tensors = load_file(folder / WEIGHTS)
    key = f"base_model.model.model.layers.0.self_attn.q_proj.{name}"
    tensors.pop(key, None)
    save_file(tensors | ({} if tensor is None else {key: tensor}), folder / WEIGHTS)


def _pickle(folder: Path) -> None:
    (folder / WEIGHTS).rename(folder / "adapter_model.bin")


BROKEN = {
    "a pickle can run code": _pickle,
    "has no adapter_config.json": lambda folder: (folder / CONFIG).unlink(),
    "`peft_type` is `IA3`": lambda folder: _set(folder, peft_type="IA3"),
    "uses `use_dora`": lambda folder: _set(folder, use_dora=True),
    "`bias` is `all`": lambda folder: _set(folder, bias="all"),
    "only one of lora_A and lora_B": lambda f: _retensor(f, "lora_A.weight", None),
    "trained on another model": lambda f: _retensor(f, "lora_A.weight", torch.ones(4, 65)),
    "rank 5 in lora_A and 4 in lora_B": lambda f: _retensor(f, "lora_A.weight", torch.ones(5, 64)),
    "above `max_lora_rank` 4": lambda f: [
        _retensor(f, "lora_A.weight", torch.ones(5, 64)),
        _retensor(f, "lora_B.weight", torch.ones(64, 5)),
    ],
    "not finite": lambda f: _retensor(f, "lora_A.weight", torch.full((4, 64), float("nan"))),
    "is no matrix of a LoRA adapter": lambda f: _retensor(f, "other.weight", torch.ones(2, 2)),
    "in `": lambda f: (f / WEIGHTS).write_bytes(b"no tensors"),
}


@pytest.mark.parametrize("reason", BROKEN)
def test_an_adapter_that_cannot_be_served_is_refused_with_the_reason(
    checkpoint: Path, adapters: Mapping[str, Path], tmp_path: Path, reason: str
) -> None:
    folder = Path(shutil.copytree(adapters["all"], tmp_path / "legal"))
    BROKEN[reason](folder)
    with pytest.raises(CheckpointRefused, match="The adapter `legal`") as refusal:
        start_engine(checkpoint, adapters={"legal": folder}, max_adapter_rank=4)
    assert reason in str(refusal.value)
