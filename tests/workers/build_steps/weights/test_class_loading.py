"""What real classes make of the headers of checkpoints."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from transformers import Glm4MoeConfig

from tests.tiny_families import FAMILIES, make_family
from workers.build_steps.weights.class_loading import ConfigRefused, _Loading
from workers.build_steps.weights.stored import stored_tensors

pytestmark = pytest.mark.engine

LAYER = "model.layers.1"
EXPERT = "model.layers.0.block_sparse_moe.experts.2"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    root = tmp_path_factory.mktemp("classes")
    return {name: make_family(name, root / name) for name in FAMILIES}


def told(
    folder: Path,
    *,
    without: tuple[str, ...] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> dict[str, Any]:
    by_name = {name: each.shape for name, each in stored_tensors(folder).items()}
    kept = {name: shape for name, shape in by_name.items() if name not in without}
    assert len(kept) == len(by_name) - len(without)
    return _Loading(str(folder), kept | dict(shapes or {})).report()


def changed(folder: Path, into: Path, **changes: Any) -> Path:
    shutil.copytree(folder, into)
    config = json.loads((into / "config.json").read_bytes())
    (into / "config.json").write_text(json.dumps(config | changes))
    return into


@pytest.mark.parametrize("name", FAMILIES)
def test_a_whole_checkpoint_lacks_nothing_and_every_tensor_is_loaded(
    name: str, folders: Mapping[str, Path]
) -> None:
    nothing = {"missing": (), "wrong": [], "body": (), "beyond": [], "unread": []}
    assert told(folders[name]) == nothing


@pytest.mark.parametrize(
    ("family", "tensor"),
    [
        ("llama", f"{LAYER}.mlp.up_proj.weight"),
        ("llama", "lm_head.weight"),
        ("qwen2", f"{LAYER}.self_attn.q_proj.bias"),
        ("gemma", f"{LAYER}.self_attn.q_norm.weight"),
        ("moe", f"{LAYER}.mlp.experts.3.gate_proj.weight"),
        ("moe", f"{LAYER}.mlp.gate.weight"),
        ("mixtral", f"{EXPERT}.w1.weight"),
        ("mixtral", f"{EXPERT}.w2.weight"),
        ("bert", "encoder.layer.1.output.dense.bias"),
        ("bert_classifier", "classifier.weight"),
    ],
)
def test_a_tensor_that_is_not_there_is_named_as_the_file_would_name_it(
    family: str, tensor: str, folders: Mapping[str, Path]
) -> None:
    assert told(folders[family], without=(tensor,))["missing"] == [tensor]


def test_layers_that_only_config_json_has_are_missing_one_by_one(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = changed(folders["llama"], tmp_path / "m", num_hidden_layers=3)
    missing = told(folder)["missing"]
    assert len(missing) == 9
    assert all(each.startswith("model.layers.2.") for each in missing)


@pytest.mark.parametrize(
    ("family", "changes", "first"),
    [
        ("llama", {"num_hidden_layers": 1}, f"{LAYER}.input_layernorm.weight"),
        ("bert", {"num_hidden_layers": 1}, "encoder.layer.1.attention.output.LayerNorm.bias"),
        ("bert_classifier", {"num_hidden_layers": 1},
         "bert.encoder.layer.1.attention.output.LayerNorm.bias"),
        ("gemma", {"num_hidden_layers": 1, "layer_types": ["sliding_attention"]},
         f"{LAYER}.input_layernorm.weight"),
    ],
)  # fmt: skip
def test_layers_that_only_the_files_have_are_told(
    family: str, changes: dict[str, Any], first: str, folders: Mapping[str, Path], tmp_path: Path
) -> None:
    beyond = told(changed(folders[family], tmp_path / "m", **changes))["beyond"]
    assert beyond[0] == first


def test_draft_layers_that_config_json_counts_lie_behind_the_last_one(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    one = changed(folders["llama"], tmp_path / "m", num_nextn_predict_layers=1)
    shapes = {"model.layers.2.eh_proj.weight": (1,)}
    assert told(one, shapes=shapes)["beyond"] == []
    assert told(one, shapes={"model.layers.3.eh_proj.weight": (1,)})["beyond"]


def test_what_a_class_says_that_it_ignores_is_no_layer_too_many(tmp_path: Path) -> None:
    config = Glm4MoeConfig(
        vocab_size=32, hidden_size=16, intermediate_size=16, moe_intermediate_size=16,
        num_hidden_layers=46, num_attention_heads=2, num_key_value_heads=1, head_dim=8,
        n_routed_experts=2, num_experts_per_tok=1, architectures=["Glm4MoeForCausalLM"],
    )  # fmt: skip
    config.save_pretrained(tmp_path)
    loading = _Loading(str(tmp_path), {})
    shapes = loading._saved(loading._empty())
    drafts = {"model.layers.46.eh_proj.weight": (16, 32)}
    assert _Loading(str(tmp_path), {**shapes, **drafts}).report()["beyond"] == []
    more = {"model.layers.47.eh_proj.weight": (16, 32)}
    assert _Loading(str(tmp_path), {**shapes, **more}).report()["beyond"] == list(more)


@pytest.mark.parametrize("number", ["2", "9999999999"])
def test_a_layer_of_any_number_behind_the_last_one_is_told(
    number: str, folders: Mapping[str, Path]
) -> None:
    name = f"model.layers.{number}.mlp.up_proj.weight"
    assert told(folders["llama"], shapes={name: (1,)})["beyond"] == [name]


def test_buffers_of_older_files_are_no_layers_too_many(folders: Mapping[str, Path]) -> None:
    shapes = {"model.layers.5.self_attn.rotary_emb.inv_freq": (8,)}
    assert told(folders["llama"], shapes=shapes)["beyond"] == []


@pytest.mark.parametrize(
    ("family", "changes", "named"),
    [
        ("llama", {"num_attention_heads": 0}, "`num_attention_heads` is 0: "),
        ("llama", {"num_key_value_heads": 0}, "`num_key_value_heads` is 0: "),
        ("llama", {"vocab_size": -3}, "`vocab_size` is -3: "),
        ("llama", {"max_position_embeddings": "many"}, '`max_position_embeddings` is "many": '),
        ("llama", {"pad_token_id": 10**9}, "`pad_token_id` is 1000000000: "),
        ("llama", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 17.0}},
         '`rope_parameters.rope_type` is "yarn": '),
        ("gemma", {"layer_types": ["odd", "odd"]}, '`layer_types` is ["odd", "odd"]: '),
        ("moe", {"num_experts_per_tok": "x"}, '`num_experts_per_tok` is "x": '),
    ],
)  # fmt: skip
def test_the_setting_whose_default_would_do_is_named(
    family: str, changes: dict[str, Any], named: str, folders: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = changed(folders[family], tmp_path / "m", **changes)
    with pytest.raises(ConfigRefused) as refused:
        told(folder)
    assert str(refused.value).startswith(named)


def test_where_no_single_setting_would_do_the_words_of_transformers_stand_alone(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    two = {"num_attention_heads": "four", "vocab_size": "many"}
    folder = changed(folders["llama"], tmp_path / "m", **two)
    with pytest.raises(ConfigRefused, match=r"^StrictDataclassFieldValidationError: .*vocab_size"):
        told(folder)


def test_a_tied_head_need_not_be_stored(folders: Mapping[str, Path], tmp_path: Path) -> None:
    folder = changed(folders["llama"], tmp_path / "m", tie_word_embeddings=True)
    assert told(folder, without=("lm_head.weight",))["missing"] == ()


@pytest.mark.parametrize(
    ("family", "tensor", "wanted"),
    [
        ("llama", "lm_head.weight", [512, 64]),
        ("mixtral", f"{EXPERT}.w1.weight", [128, 64]),
    ],
)
def test_a_tensor_of_another_shape_is_named_with_both_shapes(
    family: str, tensor: str, wanted: list[int], folders: Mapping[str, Path]
) -> None:
    assert told(folders[family], shapes={tensor: (7, 7)})["wrong"] == [[tensor, [7, 7], wanted]]


def test_a_head_is_told_from_the_body_and_what_no_class_loads_from_both(
    folders: Mapping[str, Path],
) -> None:
    body, head = "bert.encoder.layer.0.output.dense.bias", "classifier.weight"
    outcome = told(folders["bert_classifier"], without=(body, head), shapes={"other.head": (1,)})
    assert (outcome["missing"], outcome["body"]) == ([body, head], [body])
    assert outcome["unread"] == ["other.head"]


def test_what_a_base_model_is_saved_as_fits_the_class_with_a_head_but_for_the_head(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = changed(
        folders["bert"], tmp_path / "m", architectures=["BertForSequenceClassification"]
    )
    assert told(folder)["missing"] == ["classifier.bias", "classifier.weight"]
