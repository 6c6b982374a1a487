"""Modules that a config keeps in 16 bits stay so, and the export says exactly which."""

from pathlib import Path
from typing import Any

import pytest

from tests.tiny_families import make_family
from tests.workers.build_steps.gated import Quantized
from tests.workers.build_steps.quantizing import (
    CALIBRATION,
    quantized_spec,
    read_json,
    refused,
    tensors_of,
)
from workers.engine.scheme_reader import read_scheme

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
LAYERS = 12
"""More than ten: `model.layers.1*` names two more."""


def without(*patterns: str) -> dict[str, Any]:
    return {"quantization_config": {**CALIBRATION, "exclude_modules": list(patterns)}}


def made(family: str, kind: str, folder: Path, *patterns: str, **config: Any) -> Quantized:
    original = make_family(family, folder / "original", **config)
    return Quantized(family, kind, folder / "made", original=original, **without(*patterns))


def kept(quantized: Quantized) -> set[str]:
    """Return the modules in layers whose matrices are in 16 bits."""
    return {
        name.removesuffix(".weight")
        for name, each in tensors_of(quantized.model).items()
        if name.endswith(".weight") and ".layers." in name and each.dim() > 1
        and each.element_size() == 2
    }  # fmt: skip


def told(quantized: Quantized, modules: set[str]) -> set[str]:
    """Return those of the modules that the export says are in 16 bits."""
    config = read_json(quantized.model / "config.json")
    scheme = read_scheme(quantized.model, config)
    assert scheme is not None
    return {each for each in modules if scheme.excludes(each)}


def every_module(quantized: Quantized) -> set[str]:
    names = tensors_of(quantized.original)
    return {each.removesuffix(".weight") for each in names if ".layers." in each
            and names[each].dim() > 1}  # fmt: skip


@pytest.mark.parametrize(
    ("family", "kind", "patterns", "ends"),
    [
        ("llama", "fp8_kv", ["*.down_proj"], ["down_proj"]),
        ("qwen3", "fp4", ["*.mlp.*"], ["gate_proj", "up_proj", "down_proj"]),
        ("llama", "int4_awq", ["*.o_proj"], ["o_proj"]),
        ("mixtral", "fp8", ["*.experts"], ["w1", "w2", "w3"]),
    ],
)
def test_what_a_pattern_names_stays_and_the_rest_does_not(
    family: str, kind: str, patterns: list[str], ends: list[str], tmp_path: Path
) -> None:
    quantized = made(family, kind, tmp_path, *patterns)
    modules = every_module(quantized)
    entries = {each for each in modules if each.rpartition(".")[2] in ends}
    routers = {each for each in modules if each.endswith("block_sparse_moe.gate")}
    assert entries
    assert kept(quantized) == entries | routers
    assert told(quantized, modules) == entries | routers
    assert quantized.gate()["weights"]["compared"] == len(modules - entries - routers)


def test_a_layer_that_stays_is_named_and_no_layer_whose_number_begins_alike(
    tmp_path: Path,
) -> None:
    quantized = made("llama", "fp8", tmp_path, "model.layers.1.*", num_hidden_layers=LAYERS)
    modules = every_module(quantized)
    entries = {each for each in modules if each.startswith("model.layers.1.")}
    assert kept(quantized) == entries
    assert told(quantized, modules) == entries
    assert quantized.gate()["weights"]["compared"] == 7 * (LAYERS - 1)


def test_a_name_that_is_not_there_is_refused_with_the_nearest(tmp_path: Path) -> None:
    folder = make_family("llama", tmp_path / "llama")
    failure = refused(folder, tmp_path, quantized_spec(folder, "fp8", **without("*.donw_proj")))
    assert failure.code == "EHQ-EXCLUDED"
    assert "`*.donw_proj`" in failure.sentence
    assert "`*.down_proj`" in failure.sentence


def test_one_expert_of_a_layer_is_refused_with_all_of_them(tmp_path: Path) -> None:
    folder = make_family("mixtral", tmp_path / "mixtral")
    one = "model.layers.0.block_sparse_moe.experts.1.*"
    failure = refused(folder, tmp_path, quantized_spec(folder, "fp8", **without(one)))
    assert failure.code == "EHQ-EXCLUDED"
    assert "`model.layers.0.block_sparse_moe.experts.*.*`" in failure.hint


def test_to_keep_everything_is_to_quantize_nothing(tmp_path: Path) -> None:
    folder = make_family("llama", tmp_path / "llama")
    failure = refused(folder, tmp_path, quantized_spec(folder, "fp8", **without("model.layers")))
    assert failure.code == "EHQ-NOTHING"
