"""Checkpoints that come quantized: refused a second time, or passed through as they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from controlplane.artifacts import describe
from controlplane.sources import folder_facts
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.build_steps.quantizing import (
    fetched,
    inspected,
    quantized_spec,
    read_json,
    refused,
    run_here,
)

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"quant_method": "gptq", "bits": 4}, "gptq"),
        ({"quant_method": "awq", "bits": 4}, "awq"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "FP8"),
        ({"quant_method": "compressed-tensors", "format": "float-quantized",
          "config_groups": {"g": {"weights": {"type": "float", "num_bits": 8}}}},
         "compressed-tensors"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes"),
        ({"load_in_8bit": True}, "bitsandbytes"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "gguf"}, "gguf"),
    ],
)  # fmt: skip
def test_a_quantized_checkpoint_is_not_quantized_again(
    block: dict[str, Any], words: str, tmp_path: Path
) -> None:
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    config = read_json(folder / "config.json")
    (folder / "config.json").write_text(json.dumps({**config, "quantization_config": block}))
    failure = refused(folder, tmp_path, quantized_spec(folder, "fp8"))
    assert failure.code == "EHQ-ALREADY-QUANTIZED"
    assert words in failure.sentence
    assert failure.fix == {"trt_llm.build.quantization_type": "no_quant"}


def test_a_quantized_checkpoint_is_passed_through_as_it_is_and_answers(
    tiny: Path, tmp_path: Path
) -> None:
    source = fetched(tiny, tmp_path / "original")
    run_here("calibrate", quantized_spec(tiny, "fp8_kv"), tmp_path / "export", fetch=source)
    exported = tmp_path / "export" / "model"
    spec = quantized_spec(exported, "no_quant")
    facts = folder_facts(exported, commit="c1", name="tiny").model_dump(mode="json")
    steps = {
        "fetch": fetched(exported, tmp_path / "fetch"),
        "inspect": inspected(tmp_path / "inspect", checkpoint=facts),
    }
    options = {"artifact_url": (tmp_path / "artifacts").as_uri(), "memory_bytes": 2_000_000_000}
    packaged = run_here("package", spec, tmp_path / "package", options, **steps).values
    assert {(each["path"], each["sha256"]) for each in packaged["manifest"]} == {
        (each.path, each.sha256) for each in describe(exported)
    }
    assert packaged["passport"]["gate"] == "unmeasured"
    steps["package"] = tmp_path / "package"
    engine = run_here("smoke_test", spec, tmp_path / "smoke_test", options, **steps).values[
        "engine"
    ]
    assert engine["emulated"][0].startswith("FP8 weights of 14 layers")


def test_our_own_export_is_recognised_as_quantized(tiny: Path, tmp_path: Path) -> None:
    spec = quantized_spec(tiny, "fp8_kv")
    run_here("calibrate", spec, tmp_path / "one", fetch=fetched(tiny, tmp_path / "fetch"))
    failure = refused(tmp_path / "one" / "model", tmp_path, spec)
    assert failure.code == "EHQ-ALREADY-QUANTIZED"
    assert "FP8 KV cache" in failure.sentence
