"""Encoders in FP8 from their folder to an artifact that answers: embedder, classifier, others."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import BertConfig, Qwen3Config, XLMRobertaConfig

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.matrices import is_matched
from controlplane.domain.passport import Passport
from controlplane.sources import folder_facts
from tests.tiny_checkpoint import write_tokenizer
from tests.tiny_families import make_family
from tests.workers.build_steps.quantizing import (
    change_export,
    fetched,
    quantized_spec,
    read_json,
    run_here,
    tensors_of,
)
from tests.workers.engine.pooling.minilm import minilm
from workers.build_steps import outputs

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
_LONG = pytest.mark.long

BERT: dict[str, Any] = {
    "vocab_size": 512, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 128, "pad_token_id": 0,
}  # fmt: skip


def add_pooling(folder: Path, mode: str) -> Path:
    """Write what sentence-transformers writes beside a body."""
    kinds = ("Transformer", "Pooling", "Normalize")
    modules = [
        {"idx": place, "name": str(place), "path": f"{place}_{kind}" if place else "",
         "type": f"sentence_transformers.models.{kind}"}
        for place, kind in enumerate(kinds)
    ]  # fmt: skip
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    settings = {"word_embedding_dimension": 64, f"pooling_mode_{mode}": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    return folder


def saved(model_class: str, config: Any, folder: Path) -> Path:
    torch.manual_seed(0)
    model = getattr(transformers, model_class)(config)
    model.to(torch.bfloat16).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


class EncoderBuild:
    """The steps of one build, in one folder."""

    def __init__(self, checkpoint: Path, root: Path, kind: str = "fp8", **build: Any) -> None:
        given = {"base_model": "encoder", "max_seq_len": None, **build}
        self.spec = quantized_spec(checkpoint, kind, **given)
        self.root, self.steps = root, {"fetch": fetched(checkpoint, root / "fetch")}
        facts: CheckpointFacts = folder_facts(checkpoint, commit="c1", name="encoder")
        self.steps["inspect"] = root / "inspect"
        self.steps["inspect"].mkdir()
        outputs.seal(
            self.steps["inspect"], step="inspect", digests={},
            values={"checkpoint": facts.model_dump(mode="json"), "examination": {"effective": []}},
        )  # fmt: skip

    @property
    def model(self) -> Path:
        """The exported folder."""
        return self.steps["calibrate"] / "model"

    def run(self, *names: str) -> dict[str, Any]:
        """Run some steps one after the other; return what the last one found."""
        options = {
            "artifact_url": (self.root / "artifacts").as_uri(), "memory_bytes": 2_000_000_000,
        }  # fmt: skip
        result: dict[str, Any] = {}
        for name in names:
            made = run_here(name, self.spec, self.root / name, options, **self.steps)
            self.steps[name] = self.root / name
            result = dict(made.values)
        return result


def test_an_embedder_keeps_the_files_that_say_how_it_pools(tmp_path: Path) -> None:
    build = EncoderBuild(add_pooling(make_family("bert", tmp_path / "bert"), "cls_token"), tmp_path)
    gate = build.run("calibrate", "gate")
    assert (gate["kind"], gate["state"]) == ("encoder", "passed")
    passport = build.run("package")["passport"]
    assert passport["quantization"]["kv_cache_dtype"] == "16-bit"
    paths = {each["path"] for each in passport["files"]}
    assert {"modules.json", "1_Pooling/config.json", "hf_quant_config.json"} <= paths


@pytest.mark.parametrize(
    ("model_class", "labels", "answer"),
    [
        pytest.param("BertForSequenceClassification", 3, "LABEL_", marks=_LONG),
        pytest.param("BertForSequenceClassification", 1, "for the first text", marks=_LONG),
        pytest.param("BertForTokenClassification", 3, "LABEL_", marks=_LONG),
    ],
)
def test_a_model_that_labels_is_measured_by_its_labels_and_asked_for_some(
    model_class: str, labels: int, answer: str, tmp_path: Path
) -> None:
    config = BertConfig(**BERT, num_labels=labels)
    build = EncoderBuild(saved(model_class, config, tmp_path / "labels"), tmp_path)
    gate = build.run("calibrate", "gate")
    figures = gate["figures"]
    assert (figures["labels"], gate["state"]) == (labels, "passed")
    assert 0.9 <= figures["label_agreement"] <= 1
    by_token = model_class.endswith("ForTokenClassification")
    assert figures["labelled"] == (8 * 64 if by_token else 8)
    assert answer in build.run("package", "smoke_test")["answer"]


def test_a_label_that_moves_too_often_stops_the_build(tmp_path: Path) -> None:
    config = BertConfig(**BERT, num_labels=3)
    folder = saved("BertForSequenceClassification", config, tmp_path / "labels")
    build = EncoderBuild(folder, tmp_path)
    build.run("calibrate")
    head = tensors_of(build.model)["classifier.weight"]
    change_export(build.model, {"classifier.weight": -head})
    gate = build.run("gate")
    assert gate["state"] == "failed"
    assert gate["failure"]["code"] == "EHG-AGREEMENT"
    assert "label agreement" in gate["failure"]["sentence"]


def test_vectors_are_compared_as_the_checkpoint_pools_them(tmp_path: Path) -> None:
    """Only the first token of a text has position 0: what is lost there shows in `cls` alone."""
    cosines = {}
    for mode in ("cls_token", "mean_tokens"):
        root = tmp_path / mode
        build = EncoderBuild(add_pooling(make_family("bert", root / "bert"), mode), root)
        build.run("calibrate")
        places = tensors_of(build.model)["embeddings.position_embeddings.weight"].clone()
        places[0] = -places[0]
        change_export(build.model, {"embeddings.position_embeddings.weight": places})
        cosines[mode] = build.run("gate")["figures"]["mean_cosine"]
    assert cosines["cls_token"] < cosines["mean_tokens"] - 0.05


def test_an_embedder_may_leave_its_pooler_out(tmp_path: Path) -> None:
    folder = add_pooling(make_family("bert", tmp_path / "bert"), "mean_tokens")
    dropped = {name: None for name in tensors_of(folder) if name.startswith("pooler.")}
    assert dropped
    change_export(folder, dropped)
    assert EncoderBuild(folder, tmp_path).run("calibrate", "gate")["state"] == "passed"


def test_samples_leave_room_for_positions_that_a_family_never_gives(tmp_path: Path) -> None:
    config = XLMRobertaConfig(**{**BERT, "pad_token_id": 1, "max_position_embeddings": 66})
    folder = saved("XLMRobertaModel", config, tmp_path / "roberta")
    length = {"calib_dataset": "enginehouse/general", "calib_max_seq_length": 128}
    build = EncoderBuild(folder, tmp_path, quantization_config=length)
    assert build.run("calibrate")["calibration"]["max_length"] == 64
    assert build.run("gate")["state"] == "passed"


def test_a_causal_embedder_is_judged_by_its_last_token(tmp_path: Path) -> None:
    config = Qwen3Config(**BERT, num_key_value_heads=2, head_dim=16, bos_token_id=1, eos_token_id=2)
    folder = add_pooling(saved("Qwen3Model", config, tmp_path / "qwen3"), "lasttoken")
    build = EncoderBuild(folder, tmp_path)
    figures = build.run("calibrate", "gate")["figures"]
    assert figures["mean_cosine"] > 0.99


def test_a_real_embedder_keeps_its_sentences_apart_in_fp8(tmp_path: Path) -> None:
    build = EncoderBuild(minilm(), tmp_path)
    calibrated = build.run("calibrate")
    kept = calibrated["kept_in_16_bits"]
    assert kept["layers"]
    assert (
        calibrated["layers_quantized"]
        == kept["of_layers"] - len(kept["layers"])
        == 36 - len(kept["layers"])
    )
    assert kept["all_quantized"]["least_cosine"] < kept["as_built"]["least_cosine"]
    declared = read_json(build.model / "hf_quant_config.json")["quantization"]
    assert all(is_matched(each, declared["exclude_modules"]) for each in kept["layers"])
    gate = build.run("gate")
    assert gate["state"] == "passed"
    assert gate["figures"]["mean_cosine"] > 0.997
    passport = build.run("package")["passport"]
    assert passport["quantization"]["kept_in_16_bits"] == kept
    record = Passport.model_validate(passport).quantization
    assert record is not None
    assert record.kept_in_16_bits is not None
    assert record.kept_in_16_bits.layers == tuple(kept["layers"])
    tested = build.run("smoke_test")
    assert tested["kind"] == "encoder"
    assert tested["answer_seconds"] > 0
    left = calibrated["layers_quantized"]
    assert any(f"FP8 weights of {left} layers" in each for each in tested["engine"]["emulated"])
    found = re.fullmatch(
        r"Vectors of 384 numbers; .* second is (\S+), with the third (\S+)\.", tested["answer"]
    )
    assert found is not None, tested["answer"]
    assert float(found[1]) > 0.5 > float(found[2])


def test_all_layers_are_quantized_where_no_cosine_is_asked_for(tmp_path: Path) -> None:
    build = EncoderBuild(make_family("bert", tmp_path / "bert"), tmp_path)
    build.spec["enginehouse"]["calibration"]["encoder_least_cosine"] = 0
    calibrated = build.run("calibrate")
    assert "kept_in_16_bits" not in calibrated
    assert calibrated["calibration"]["used"] == 16
