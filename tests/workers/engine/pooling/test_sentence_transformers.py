"""Every way of pooling gives the numbers that the sentence-transformers library gives."""

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from tests.workers.engine.pooling.encoders import (
    HIDDEN,
    TEXTS,
    make_encoder,
    serving,
    vectors,
    write_sentence_files,
)
from tests.workers.engine.pooling.minilm import minilm

pytestmark = pytest.mark.engine
QUERY = "query: "


def sentence_transformers_vectors(
    folder: Path, texts: Sequence[str], *, kind: str = "SentenceTransformer", **how: Any
) -> Tensor:
    """Encode with the library itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, about names of older versions
        import sentence_transformers

        model = getattr(sentence_transformers, kind)(str(folder), device="cpu")
        tokens = model.encode(list(texts), convert_to_tensor=True, **how)
    return (tokens.to_dense() if tokens.is_sparse else tokens).float().cpu()


def agree(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_minilm_is_equal_for_short_long_and_empty_texts() -> None:
    texts = [*TEXTS, "", "A man is eating food.", "Someone has a meal.", "word " * 600]
    with serving(minilm()) as client:
        ours = vectors(client, texts)
        assert client.get("/info").json()["max_seq_len"] == 256
    theirs = sentence_transformers_vectors(minilm(), texts)
    agree(ours, theirs)
    assert float(ours[-3] @ ours[-2]) > float(ours[-3] @ ours[0]) + 0.3


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_encoder("Bert", tmp_path_factory.mktemp("bare") / "bert")


@pytest.mark.parametrize(
    "pooling",
    [
        {"pooling_mode": "cls"},
        {"pooling_mode": "max"},
        {"pooling_mode": "lasttoken"},
        {"pooling_mode": "weightedmean"},
        {"pooling_mode": "mean_sqrt_len_tokens"},
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
    ],
    ids=lambda pooling: "+".join(str(value) for value in pooling.values()),
)
def test_poolings_are_equal(bare: Path, pooling: Mapping[str, Any]) -> None:
    flags = {"pooling_mode_mean_tokens": False} if "pooling_mode" not in pooling else {}
    write_sentence_files(bare, {**flags, **pooling})
    with serving(bare) as client:
        ours = vectors(client, TEXTS)
    agree(ours, sentence_transformers_vectors(bare, TEXTS))


@pytest.mark.parametrize("mode", ["mean", "cls", "lasttoken"])
@pytest.mark.parametrize("includes", [True, False])
def test_prompts_are_put_before_and_pooled_or_not(bare: Path, mode: str, includes: bool) -> None:
    pooling = {"pooling_mode": mode, "include_prompt": includes}
    prompts = {"query": QUERY, "document": ""}
    write_sentence_files(bare, pooling, "Normalize", prompts=prompts, default_prompt_name=None)
    with serving(bare) as client:
        ours, plain = vectors(client, TEXTS, prompt_name="query"), vectors(client, TEXTS)
        of_documents = vectors(client, TEXTS, prompt_name="document")
        unknown = client.post("/v1/embeddings", json={"input": "a", "prompt_name": "passage"})
    agree(ours, sentence_transformers_vectors(bare, TEXTS, prompt_name="query"))
    agree(plain, sentence_transformers_vectors(bare, TEXTS))
    agree(of_documents, sentence_transformers_vectors(bare, TEXTS, prompt_name="document"))
    assert "`query`" in unknown.json()["error"]["message"]


def test_a_default_prompt_and_a_limit_hold_for_requests_that_name_none(bare: Path) -> None:
    write_sentence_files(
        bare, {"pooling_mode": "mean"}, max_length=16, prompts={"query": QUERY},
        default_prompt_name="query",
    )  # fmt: skip
    with serving(bare) as client:
        ours = vectors(client, TEXTS)
    agree(ours, sentence_transformers_vectors(bare, TEXTS))


def test_a_limit_is_read_under_each_of_its_names(tmp_path: Path) -> None:
    folder = make_encoder("Roberta", tmp_path)
    write_sentence_files(folder, {"pooling_mode": "mean"}, max_length=16)
    (folder / "sentence_bert_config.json").rename(folder / "sentence_roberta_config.json")
    with serving(folder) as client:
        ours = vectors(client, TEXTS)
        assert client.get("/info").json()["max_seq_len"] == 16
    agree(ours, sentence_transformers_vectors(folder, TEXTS))


def write_dense(folder: Path, sizes: tuple[int, int], *, bias: bool, **settings: Any) -> None:
    folder.mkdir(exist_ok=True)
    before, after = sizes
    shape = {"in_features": before, "out_features": after, "bias": bias}
    (folder / "config.json").write_text(json.dumps({**shape, **settings}))
    random = torch.Generator().manual_seed(after)
    tensors = {"linear.weight": torch.randn(after, before, generator=random) / before**0.5}
    if bias:
        tensors["linear.bias"] = torch.randn(after, generator=random)
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("named", "bias"),
    [
        ({"activation_function": "torch.nn.modules.activation.Tanh"}, True),
        ({"activation_function": "torch.nn.modules.linear.Identity"}, False),
        ({}, True),
    ],
)
def test_projections_after_pooling_are_applied(
    tmp_path: Path, named: Mapping[str, str], bias: bool
) -> None:
    bare = make_encoder("Bert", tmp_path)
    write_sentence_files(bare, {"pooling_mode": "mean"}, "Dense", "Dense", "Normalize")
    modules = json.loads((bare / "modules.json").read_text())
    modules[3]["path"] = "3_Dense"
    (bare / "modules.json").write_text(json.dumps(modules))
    write_dense(bare / "2_Dense", (HIDDEN, 96), bias=bias, **named)
    write_dense(bare / "3_Dense", (96, 24), bias=bias, **named)
    with serving(bare) as client:
        ours = vectors(client, TEXTS)
    assert ours.shape == (len(TEXTS), 24)
    agree(ours, sentence_transformers_vectors(bare, TEXTS))


@pytest.mark.parametrize(
    "settings", [{}, {"activation_function": "log1p_relu"}, {"pooling_strategy": "sum"}]
)
def test_splade_weighs_the_words_of_the_vocabulary(tmp_path: Path, settings: Any) -> None:
    folder = make_encoder("Bert", tmp_path, head="ForMaskedLM")
    write_sentence_files(
        folder, {"pooling_strategy": "max", **settings}, sparse=True,
        model_type="SparseEncoder",
    )  # fmt: skip
    with serving(folder) as client:
        ours = vectors(client, TEXTS)
        sparse = client.post("/embed_sparse", json={"inputs": TEXTS[0]}).json()
    agree(ours, sentence_transformers_vectors(folder, TEXTS, kind="SparseEncoder"))
    assert {each["index"]: each["value"] for each in sparse[0]} == {
        index: pytest.approx(float(ours[0, index]))
        for index in ours[0].nonzero().flatten().tolist()
    }
