"""Packed rows come to what padded ones come to, whatever lies beside them."""

from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from tests.workers.engine.pooling.encoders import FAMILIES, make_encoder, write_sentence_files
from workers.engine.pooling.loader import load_encoder
from workers.engine.pooling.packed import runner as packed_runner
from workers.engine.pooling.packed.body import packs
from workers.engine.pooling.packed.runner import PackedRunner, can_pack
from workers.engine.pooling.rows import Row
from workers.engine.pooling.runner import PaddedRunner
from workers.engine.settings import EngineSettings

pytestmark = pytest.mark.engine
CPU = torch.device("cpu")
PADDED = {"DebertaV2", "Gemma2", "MPNet"} & FAMILIES.keys()
"""Their attention is their own, or bends its scores."""
PACKED = sorted(FAMILIES.keys() - PADDED)
LENGTHS = (5, 40, 1, 40, 17, 64, 100, 3)
HEADS = ("Model", "ForSequenceClassification", "ForTokenClassification")
_NAMES = {*dir(transformers)}
"""By which a class is looked for, since to ask for it would import its model."""
CASES = [
    (family, head)
    for family in PACKED
    for head in HEADS
    if f"{family}{head}" in _NAMES
    and (family, head) != ("Albert", "ForSequenceClassification")  # its pooler is in parts
]


def rows(*lengths: int, prompt_tokens: int = 0) -> list[Row]:
    return [
        Row(
            ids=[(7 * at + 3 * place) % 50 + 3 for place in range(length)],
            types=[int(place > length // 2) for place in range(length)],
            prompt_tokens=min(prompt_tokens, length - 1),
        )
        for at, length in enumerate(lengths)
    ]  # fmt: skip


def both(folder: Path, asked: list[Row], *, dtype: str = "float32") -> tuple[list[Tensor], ...]:
    """Give back what is made of the rows padded, and packed."""
    settings = EngineSettings(model_dir=folder, served_model_name="tiny", dtype=dtype)
    padded = PaddedRunner(load_encoder(settings), CPU).start(asked)()
    packed = PackedRunner(load_encoder(settings), CPU, max_tokens=2048)
    return padded, packed.start(asked)()


def assert_same(found: tuple[list[Tensor], ...]) -> None:
    padded, packed = found
    assert len(padded) == len(packed)
    for one, other in zip(padded, packed, strict=True):
        torch.testing.assert_close(other, one, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("family", "head"), CASES)
def test_a_row_is_the_same_as_in_a_padded_batch(family: str, head: str, tmp_path: Path) -> None:
    folder = make_encoder(family, tmp_path, head=head)
    if head == "Model":
        write_sentence_files(folder, {"pooling_mode": "mean"})
    assert_same(both(folder, rows(*LENGTHS)))


@pytest.mark.parametrize("mode", ["cls", "max", "lasttoken", "weightedmean"])
def test_each_pooling_reads_its_own_row_and_leaves_the_prompt_out(
    mode: str, tmp_path: Path
) -> None:
    folder = write_sentence_files(make_encoder("Bert", tmp_path), {"pooling_mode": mode})
    assert_same(both(folder, rows(*LENGTHS, prompt_tokens=2)))


def test_a_window_that_looks_both_ways_is_that_of_the_class(tmp_path: Path) -> None:
    folder = make_encoder("Gemma3Text", tmp_path, use_bidirectional_attention=True)
    write_sentence_files(folder, {"pooling_mode": "mean"})
    assert_same(both(folder, rows(*LENGTHS)))


def test_padding_tokens_of_a_text_keep_the_positions_of_their_family(tmp_path: Path) -> None:
    folder = write_sentence_files(make_encoder("Roberta", tmp_path), {"pooling_mode": "mean"})
    pad = 0
    requests = [Row(ids=[5, pad, 6, pad, pad, 7]), Row(ids=[pad, 5]), Row(ids=[8, 9, 10])]
    assert_same(both(folder, requests))


def test_a_head_that_scores_each_token_reads_tables_of_a_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_encoder("Bert", tmp_path, head="ForTokenClassification")
    monkeypatch.setattr(packed_runner, "TABLE_TOKENS", 64)
    settings = EngineSettings(model_dir=folder, served_model_name="tiny", dtype="float32")
    model = load_encoder(settings)
    seen: list[tuple[int, ...]] = []
    model.module.classifier.register_forward_hook(
        lambda _module, _inputs, scores: seen.append(tuple(scores.shape[:2]))
    )
    packed = PackedRunner(model, CPU, max_tokens=2048)
    packed.start(rows(100, 20, 20, 20, 3, 3))()
    assert seen == [(1, 100), (3, 20), (2, 3)]


def test_weights_are_joined_and_none_is_held_twice(tmp_path: Path) -> None:
    folder = write_sentence_files(make_encoder("Qwen3", tmp_path), {"pooling_mode": "mean"})
    model = load_encoder(EngineSettings(model_dir=folder, served_model_name="t", dtype="float32"))
    names = [name for name, _ in model.module.named_parameters()]
    taken = model.weights_bytes
    PackedRunner(model, CPU, max_tokens=2048)
    joined = [name for name, _ in model.module.named_parameters()]
    assert model.weights_bytes == taken
    assert len(names) - len(joined) == 2 * (2 + 1)  # of two layers: keys, values, one of the gates


@pytest.mark.parametrize("family", sorted(PADDED))
def test_a_class_whose_attention_is_its_own_is_padded(family: str, tmp_path: Path) -> None:
    folder = write_sentence_files(make_encoder(family, tmp_path), {"pooling_mode": "mean"})
    model = load_encoder(EngineSettings(model_dir=folder, served_model_name="t", dtype="float32"))
    assert not can_pack(model)


def test_a_pooler_that_is_no_layer_by_itself_is_left_to_its_class() -> None:
    config = transformers.AlbertConfig(
        vocab_size=9, hidden_size=8, embedding_size=8, num_attention_heads=1, intermediate_size=8
    )
    body = transformers.AlbertModel(config)
    assert packs(body, has_pooler=False)
    assert not packs(body, has_pooler=True)


def test_a_head_that_takes_the_mean_leaves_padding_out(tmp_path: Path) -> None:
    folder = make_encoder(
        "ModernBert", tmp_path, head="ForSequenceClassification", classifier_pooling="mean"
    )
    assert_same(both(folder, rows(*LENGTHS)))
