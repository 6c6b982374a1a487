"""Every family in every type: the tensors that a type promises, in files that load again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from tests.tiny_families import FAMILIES, LAYERS, make_family
from tests.workers.build_steps.quantizing import (
    fetched,
    quantized_spec,
    read_json,
    run_here,
    tensors_of,
)
from workers.build_steps.gating.as_served import load_as_served
from workers.build_steps.quantization.calibrating import run_batch
from workers.build_steps.quantization.checkpoint import open_checkpoint
from workers.build_steps.quantization.loading import Device

pytestmark = pytest.mark.engine

CPU = Device(kind="cpu", threads=1)
ATTENTION = {
    "decoder": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
    "encoder": ("self.query", "self.key", "self.value", "attention.output.dense"),
}
FEED_FORWARD = {
    "decoder": ("gate_proj", "up_proj", "down_proj"),
    "encoder": ("intermediate.dense", "layer.{}.output.dense"),
}
LEFT = ("embed", "lm_head", "norm", "mlp.gate.", "pooler", "classifier", "LayerNorm")


@dataclass(frozen=True)
class Promise:
    """What a type makes of a decoder."""

    dtype: torch.dtype
    algorithm: str
    attention: bool = True
    kv_cache: bool = False


E4M3, PACKED = torch.float8_e4m3fn, torch.uint8
PROMISES = {
    "fp8": Promise(E4M3, "FP8"),
    "fp8_kv": Promise(E4M3, "FP8", kv_cache=True),
    "fp8_mlp_only": Promise(E4M3, "FP8", attention=False),
    "fp4": Promise(PACKED, "NVFP4"),
    "fp4_kv": Promise(PACKED, "NVFP4", kv_cache=True),
    "fp4_mlp_only": Promise(PACKED, "NVFP4", attention=False),
}


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("families")
    return {name: make_family(name, root / name) for name in FAMILIES}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", PROMISES)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_in_a_type_has_the_tensors_of_the_type_and_loads_again(
    family: str, kind: str, families: dict[str, Path], tmp_path: Path
) -> None:
    original, promise = families[family], PROMISES[kind]
    spec = quantized_spec(original, kind)
    source = fetched(original, tmp_path / "fetch")
    values = run_here("calibrate", spec, tmp_path / "calibrate", fetch=source).values
    exported = tmp_path / "calibrate" / "model"
    is_encoder = family.startswith("bert")

    found = tensors_of(exported)
    role = "encoder" if is_encoder else "decoder"
    for name, tensor in found.items():
        if name.endswith(".weight") and tensor.dim() > 1:
            assert tensor.dtype is expected_dtype(name, role, promise), name
    scales = {name for name in found if name.endswith(("k_scale", "v_scale"))}
    wanted = 2 * LAYERS if promise.kv_cache and not is_encoder else 0
    assert len(scales) == wanted
    check_config(original, exported, promise, kv_cache=wanted > 0)
    check_values(values, found, kind, is_encoder=is_encoder)
    check_answers(original, exported)


def expected_dtype(name: str, role: str, promise: Promise) -> torch.dtype:
    if any(each in name for each in LEFT):
        return torch.bfloat16
    is_attention = any(each in name for each in ATTENTION[role])
    is_feed_forward = any(
        each.format(layer) in name for each in FEED_FORWARD[role] for layer in range(LAYERS)
    )
    assert is_attention != is_feed_forward, name
    return promise.dtype if promise.attention or is_feed_forward else torch.bfloat16


def check_config(original: Path, exported: Path, promise: Promise, *, kv_cache: bool) -> None:
    quantization = read_json(exported / "hf_quant_config.json")["quantization"]
    assert quantization["quant_algo"] == promise.algorithm
    assert quantization["kv_cache_quant_algo"] == ("FP8" if kv_cache else None)
    before, after = read_json(original / "config.json"), read_json(exported / "config.json")
    block = after.pop("quantization_config")
    assert block["quant_method"] == "modelopt"
    assert block["quant_algo"] == promise.algorithm
    assert after == before, "every other setting is the original's own"
    for path in original.iterdir():
        if path.suffix in (".jinja", ".model") or path.name.startswith(("token", "generation")):
            assert (exported / path.name).read_bytes() == path.read_bytes()


def check_values(
    values: dict[str, Any], found: dict[str, torch.Tensor], kind: str, *, is_encoder: bool
) -> None:
    quantized = [
        name for name, each in found.items() if each.dtype in (E4M3, PACKED) and "scale" not in name
    ]
    assert values["layers_quantized"] == len(quantized) == sum(values["quantized"].values())
    assert values["quantization_type"] == kind
    assert values["calibration"]["used"] == 16
    assert values["calibration"]["size_asked"] == 16
    assert values["calibration"]["dataset"] == "enginehouse/general"
    if is_encoder and kind.endswith("_kv"):
        [change] = values["effective"]
        assert change["effective"] == kind.removesuffix("_kv")
        assert values["kv_cache_dtype"] == "16-bit"
    else:
        assert values["effective"] == []


def check_answers(original: Path, exported: Path) -> None:
    checkpoint = open_checkpoint(original, served_as_encoder=False)
    served = load_as_served(checkpoint, exported, device=CPU, dtype=torch.float32)
    tokens = transformers.AutoTokenizer.from_pretrained(exported)("The sky is blue.")["input_ids"]
    with torch.inference_mode():
        assert bool(torch.isfinite(run_batch(served, [tokens])[0]).all())
