from collections.abc import Callable

import pytest

from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import SourceFailure
from controlplane.sources.selection import select

Repository = Callable[..., CheckpointRepository]
SHARDS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
INDEX = "model.safetensors.index.json"


def test_small_files_and_weights_are_read(repository: Repository) -> None:
    targets = [
        "1_Pooling/config.json",
        "additional_chat_templates/tool_use.jinja",
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "merges.txt",
        "model.safetensors",
        "modules.json",
        "tokenizer.json",
        "tokenizer.model",
        "vocab.txt",
    ]
    unwanted = [
        "README.md", "LICENSE", "model.py", "pytorch_model.bin", "optimizer.pt",
        "training_args.bin",
        "trainer_state.json", "all_results.json", "onnx/model.onnx", "onnx/config.json",
        "checkpoint-10/model.safetensors", "flax_model.msgpack", "tf_model.h5",
    ]  # fmt: skip
    assert list(select(repository(), [*targets, *unwanted])) == targets


def test_shards_of_another_format_are_left(repository: Repository) -> None:
    names = ["config.json", *SHARDS, INDEX, "consolidated.safetensors", "model.fp16.safetensors"]
    assert set(select(repository(), names)) == {"config.json", INDEX, *SHARDS}


def test_a_single_file_wins_over_shards_beside_it(repository: Repository) -> None:
    names = ["config.json", "model.safetensors", *SHARDS, INDEX]
    assert list(select(repository(), names)) == ["config.json", "model.safetensors"]


def test_weights_under_their_own_name_are_taken(repository: Repository) -> None:
    names = ["config.json", "consolidated.safetensors"]
    assert list(select(repository(), names)) == names


def test_a_missing_shard_is_named(repository: Repository) -> None:
    with pytest.raises(SourceFailure, match=SHARDS[1]) as caught:
        select(repository(), ["config.json", SHARDS[0], INDEX])
    assert caught.value.failure.code == "EHF-INCOMPLETE"


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "consolidated.00.pth", "w.ckpt"])
def test_pickled_weights_are_refused_with_words(repository: Repository, name: str) -> None:
    with pytest.raises(SourceFailure, match=name) as caught:
        select(repository(), ["config.json", name])
    assert caught.value.failure.code == "EHF-PICKLED-WEIGHTS"
    assert "safetensors" in (caught.value.failure.hint or "")


@pytest.mark.parametrize("others", [[], ["config.json", "tokenizer.json"]])
def test_gguf_files_are_refused_before_a_byte_is_fetched(
    repository: Repository, others: list[str]
) -> None:
    with pytest.raises(SourceFailure, match=r"model-q4_k_m\.gguf") as caught:
        select(repository(), [*others, "model-q4_k_m.gguf"])
    assert caught.value.failure.code == "EHF-GGUF"
    both = select(repository(), ["config.json", "model.safetensors", "model-q4_k_m.gguf"])
    assert both == ("config.json", "model.safetensors")


def test_no_weights_at_all_is_no_checkpoint(repository: Repository) -> None:
    with pytest.raises(SourceFailure) as caught:
        select(repository(), ["config.json", "tokenizer.json"])
    assert caught.value.failure.code == "EHF-NOT-A-CHECKPOINT"
