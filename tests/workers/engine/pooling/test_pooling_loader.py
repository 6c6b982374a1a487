"""A folder that cannot be pooled is refused before it answers, in words that say what to do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.workers.engine.pooling.encoders import (
    TEXTS,
    make_encoder,
    serving,
    vectors,
    write_sentence_files,
)
from workers.engine.checkpoint_folder import read_config
from workers.engine.errors import CheckpointRefused
from workers.engine.model_class import class_of
from workers.engine.task import Task, read_task

pytestmark = pytest.mark.engine
MEAN = {"pooling_mode": "mean"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_sentence_files(make_encoder("Bert", tmp_path), MEAN)


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def without_weights(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def without_a_layer(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["encoder.layer.1.attention.self.query.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def with_one_row_that_is_no_number(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors["embeddings.word_embeddings.weight"][-1] = float("nan")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def with_a_projection_of_another_size(folder: Path) -> None:
    write_sentence_files(folder, MEAN, "Dense")
    (folder / "2_Dense").mkdir()
    settings = {"in_features": 64, "out_features": 8}
    (folder / "2_Dense" / "config.json").write_text(json.dumps(settings))
    save_file({"linear.weight": torch.ones(4, 64)}, folder / "2_Dense" / "model.safetensors")


def with_a_step_of_code(folder: Path) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "2_Own", "type": "custom.Own"})
    (folder / "modules.json").write_text(json.dumps(modules))


def with_an_activation_of_code(folder: Path) -> None:
    write_sentence_files(folder, MEAN, "Dense")
    (folder / "2_Dense").mkdir()
    settings = {"in_features": 64, "out_features": 8, "activation_function": "os.system"}
    (folder / "2_Dense" / "config.json").write_text(json.dumps(settings))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / "modules.json").unlink(), "has no modules.json"),
        (lambda f: (f / "1_Pooling" / "config.json").unlink(), "has no 1_Pooling/config.json"),
        (lambda f: (f / "modules.json").write_text("{"), "is not JSON"),
        (lambda f: change(f / "1_Pooling" / "config.json", pooling_mode="median"), "`median`"),
        (lambda f: change(f / "config.json", architectures=["FunnelModel"]), "`FunnelModel`"),
        (without_weights, "a pickle can run code"),
        (without_a_layer, r"no tensor `encoder\.layer\.1\.attention\.self\.query\.weight`"),
        (with_one_row_that_is_no_number, r"`embeddings\.word_embeddings\.weight` holds infin"),
        (with_a_projection_of_another_size, "The weights of .*2_Dense` are not its own"),
        (with_a_step_of_code, "Transformer → Pooling → Own"),
        (with_an_activation_of_code, r"`os\.system`"),
        (lambda f: change(f / "sentence_bert_config.json", max_seq_length=2), "holds no word"),
    ],
)
def test_a_folder_that_cannot_be_pooled_is_refused(
    folder: Path, spoil: Callable[[Path], object], words: str
) -> None:
    spoil(folder)
    with pytest.raises(CheckpointRefused, match=words), serving(folder):
        pass


def test_a_body_without_the_pooler_that_nothing_reads_is_served(folder: Path) -> None:
    with serving(folder) as client:
        before = vectors(client, TEXTS)
    tensors = load_file(folder / "model.safetensors")
    kept = {name: each for name, each in tensors.items() if not name.startswith("pooler.")}
    assert len(kept) < len(tensors)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with serving(folder) as client:
        torch.testing.assert_close(vectors(client, TEXTS), before)


def test_a_language_head_alone_is_read_as_splade(tmp_path: Path) -> None:
    folder = make_encoder("Bert", tmp_path, head="ForMaskedLM")
    with serving(folder) as client:
        assert client.get("/info").json()["pooling"] == "splade"
        assert vectors(client, TEXTS).shape == (len(TEXTS), 512)


def test_a_language_head_without_its_tensors_weighs_no_words(tmp_path: Path) -> None:
    folder = make_encoder("Bert", tmp_path, head="ForMaskedLM")
    tensors = load_file(folder / "model.safetensors")
    del tensors["cls.predictions.transform.dense.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointRefused, match=r"`cls\.predictions\."), serving(folder):
        pass


@pytest.mark.parametrize(
    ("architecture", "task"),
    [
        ("LlamaForCausalLM", Task.GENERATE),
        ("GPT2LMHeadModel", Task.GENERATE),
        ("BertModel", Task.EMBED),
        ("BertForMaskedLM", Task.EMBED),
        ("Qwen2ForSequenceClassification", Task.CLASSIFY),
        ("RobertaForTokenClassification", Task.LABEL_TOKENS),
    ],
)
def test_the_task_is_read_from_the_checkpoint(
    tmp_path: Path, architecture: str, task: Task
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"architectures": [architecture]}))
    assert read_task(tmp_path, read_config(tmp_path)) is task
    (tmp_path / "modules.json").write_text("[]")
    pools = Task.EMBED if task is Task.GENERATE else task
    assert read_task(tmp_path, read_config(tmp_path)) is pools


def test_a_class_that_this_transformers_lacks_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(CheckpointRefused, match="has no class `LaterBertModel`"):
        class_of(tmp_path, "LaterBertModel")
