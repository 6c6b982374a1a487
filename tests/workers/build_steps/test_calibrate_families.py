"""Every family in every type: the tensors and configs that a type promises, loaded again."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from _pytest.mark import ParameterSet
from torch import Tensor

from controlplane.domain.facts.quantization import PRECISIONS
from tests.tiny_families import FAMILIES, make_family
from tests.workers.build_steps.quantizing import (
    fetched,
    quantized_spec,
    read_json,
    run_here,
    tensors_of,
)
from workers.build_steps.gating.as_served import load_as_served
from workers.build_steps.gating.calibrated import compare_with_calibration, expected_scales
from workers.build_steps.gating.declaration import check_declaration
from workers.build_steps.gating.descriptions import check_descriptions
from workers.build_steps.quantization import loading
from workers.build_steps.quantization.checkpoint import open_checkpoint
from workers.build_steps.quantization.exported import read_export
from workers.build_steps.quantization.forward import run_batch
from workers.build_steps.quantization.loading import Device
from workers.engine.quantized import dequantize

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]

CPU = Device(kind="cpu", threads=1)
ATTENTION = (
    "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
)  # fmt: skip
FEED_FORWARD = (
    "gate_proj", "up_proj", "down_proj", "w1", "w2", "w3", "intermediate.dense",
    "0.output.dense", "1.output.dense",
)  # fmt: skip
FUSED = (("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), ("gate_proj", "up_proj"))
"""Layers that engines compute as one, with one scale for all."""
_OF_EXPERT = re.compile(r"experts\.\d+\.(\w+)\.weight_scale")
BFLOAT16, FLOAT32, E4M3, PACKED = torch.bfloat16, torch.float32, torch.float8_e4m3fn, torch.uint8
E4M3_LARGEST, E2M1_LARGEST = 448.0, 6.0
CALIBRATED = (".input_scale", ".k_scale", ".v_scale")

Kinds = dict[str, tuple[torch.dtype, tuple[int, ...]]]
"""Tensor name -> its type and shape."""


@dataclass(frozen=True)
class Promise:
    """What a type makes of a decoder."""

    algorithm: str
    attention: bool = True
    kv_cache: bool = False

    @property
    def is_fp4(self) -> bool:
        return self.algorithm == "NVFP4"

    @property
    def largest_error(self) -> float:
        """Of a matrix, as a share of its length: rounding to so few bits cannot lose more."""
        return 0.12 if self.is_fp4 else 0.035


PROMISES = {
    name: Promise(
        each.weights.modelopt_name or "",
        attention=not each.mlp_only,
        kv_cache=each.quantizes_kv_cache,
    )
    for name, each in PRECISIONS.items()
    if each.is_built and not each.weights.is_rewritten
}


def _pairs() -> Iterator[ParameterSet]:
    """Yield every family in every type; in the short form each in one, and Llama in all."""
    for (number, family), kind in itertools.product(enumerate(FAMILIES), PROMISES):
        is_usual = kind == ("fp8_kv", "fp4")[number % 2] or family == "llama"
        yield pytest.param(family, kind, marks=() if is_usual else pytest.mark.long)


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("families")
    return {name: make_family(name, root / name) for name in FAMILIES}


@pytest.mark.parametrize(("family", "kind"), [*_pairs()])
def test_a_family_in_a_type_has_the_tensors_of_the_type_and_loads_again(
    family: str,
    kind: str,
    families: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original, promise = families[family], PROMISES[kind]
    # The type to compute in is the processor's to say; what is exported must not depend on it.
    monkeypatch.setattr(loading, "has_native_bfloat16", lambda: promise.kv_cache)
    source = fetched(original, tmp_path / "fetch")
    spec = quantized_spec(original, kind)
    # Of the type itself: which layers an encoder keeps is told in test_encoder_builds.
    spec["enginehouse"]["calibration"]["encoder_least_cosine"] = 0
    values = run_here("calibrate", spec, tmp_path / "calibrate", fetch=source).values
    exported = tmp_path / "calibrate" / "model"
    is_encoder = family.startswith("bert")
    if is_encoder:
        promise = Promise(promise.algorithm, attention=promise.attention)

    before, after = tensors_of(original), tensors_of(exported)
    kinds = {name: (each.dtype, tuple(each.shape)) for name, each in after.items()}
    assert kinds == expected_tensors(before, promise)
    check_scales(before, after, promise)
    check_configs(original, exported, before, promise)
    check_descriptions(open_checkpoint(original, served_as_encoder=is_encoder), exported)
    check_declaration(exported, read_export(exported), values)
    check_amax(tmp_path / "calibrate", after, promise)
    check_values(values, after, kind, promise, is_encoder=is_encoder)
    check_loading(original, exported, after, promise)


def expected_tensors(before: Mapping[str, Tensor], promise: Promise) -> Kinds:
    """Return what an export must hold and nothing beside it, from the original's tensors."""
    values: Kinds = {}
    for name, tensor in before.items():
        module, _, kind = name.rpartition(".")
        if kind != "weight" or not is_quantized(module, promise):
            values[name] = (BFLOAT16, tuple(tensor.shape))
            continue
        rows, columns = tensor.shape
        values[f"{module}.input_scale"] = (FLOAT32, ())
        if promise.is_fp4:
            values[name] = (PACKED, (rows, columns // 2))
            values[f"{module}.weight_scale"] = (E4M3, (rows, columns // 16))
            values[f"{module}.weight_scale_2"] = (FLOAT32, ())
        else:
            values[name] = (E4M3, (rows, columns))
            values[f"{module}.weight_scale"] = (FLOAT32, ())
    if promise.kv_cache:
        attention = {name.split("k_proj")[0] for name in before if name.endswith("k_proj.weight")}
        assert attention
        values |= {f"{each}{kind}_proj.{kind}_scale": (FLOAT32, ())
                  for each in attention for kind in "kv"}  # fmt: skip
    return values


def is_quantized(module: str, promise: Promise) -> bool:
    if module.endswith(ATTENTION):
        return promise.attention
    return module.endswith(FEED_FORWARD)


def check_scales(
    before: Mapping[str, Tensor], after: Mapping[str, Tensor], promise: Promise
) -> None:
    """The scale of a weight takes in its largest number; layers that engines fuse share what their
    kernels have one of: the scale of the input, and in FP4 that of all blocks."""
    kind = "weight_scale_2" if promise.is_fp4 else "weight_scale"
    largest = E4M3_LARGEST * E2M1_LARGEST if promise.is_fp4 else E4M3_LARGEST
    scales = {name: each for name, each in after.items() if name.endswith(f".{kind}")}
    for name, scale in scales.items():
        module = name.removesuffix(f".{kind}")
        target = float(before[f"{module}.weight"].abs().max()) / largest
        assert float(scale) >= target * 0.999, name
        assert float(scale) < target * 4, f"{name} wastes the numbers' range"
    shared = ("input_scale", kind) if promise.is_fp4 else ("input_scale",)
    for one, *others in FUSED:
        for name in (each for each in after if each.endswith(tuple(f"{one}.{s}" for s in shared))):
            for fused in (name.replace(one, other) for other in others):
                assert torch.equal(after[name], after[fused]), fused
    plain = dequantize(after, FLOAT32).weights
    for name, original in before.items():
        lost = float((plain[name] - original.float()).norm())
        assert lost <= promise.largest_error * float(original.float().norm()), name


def check_amax(calibrated: Path, after: Mapping[str, Tensor], promise: Promise) -> None:
    """The largest value of each input, key and value is kept, and told by its scale."""
    scales = {name: float(each) for name, each in after.items() if name.endswith(CALIBRATED)}
    report = compare_with_calibration(
        scales, expected_scales(calibrated, {"quant_algo": promise.algorithm})
    )
    assert (report.scales, report.not_compared) == (len(scales), ())


def check_configs(
    original: Path, exported: Path, tensors: Mapping[str, Tensor], promise: Promise
) -> None:
    """Both files say the same, and name exactly the matrices that keep 16 bits."""
    content = read_json(exported / "hf_quant_config.json")
    stored, producer = content["quantization"], content["producer"]
    excluded = stored["exclude_modules"]
    assert content == {"producer": producer, "quantization": stored}
    assert producer["name"] == "modelopt"
    assert stored == {
        "quant_algo": promise.algorithm,
        "kv_cache_quant_algo": "FP8" if promise.kv_cache else None,
        "exclude_modules": excluded,
        **({"group_size": 16} if promise.is_fp4 else {}),
    }
    before, after = read_json(original / "config.json"), read_json(exported / "config.json")
    number: dict[str, Any] = {"dynamic": False, "num_bits": 4 if promise.is_fp4 else 8,
                              "type": "float"}  # fmt: skip
    number |= {"group_size": 16} if promise.is_fp4 else {}
    assert after.pop("quantization_config") == {
        "quant_method": "modelopt",
        "quant_algo": promise.algorithm,
        "config_groups": {
            "group_0": {"input_activations": number, "weights": number, "targets": ["Linear"]}
        },
        "ignore": excluded,
        "producer": producer,
        **({"kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"}}
           if promise.kv_cache else {}),
    }  # fmt: skip
    assert after == before, "every other setting is the original's own"
    check_excluded(excluded, tensors, promise)
    for path in original.iterdir():
        if path.suffix in (".jinja", ".model") or path.name.startswith(("token", "generation")):
            assert (exported / path.name).read_bytes() == path.read_bytes()


def check_excluded(excluded: list[str], tensors: Mapping[str, Tensor], promise: Promise) -> None:
    for name, tensor in tensors.items():
        module, _, kind = name.rpartition(".")
        if kind == "weight" and tensor.dim() > 1 and "embed" not in module:
            is_named = any(fnmatchcase(module, pattern) for pattern in excluded)
            assert is_named != is_quantized(module, promise), module
    if any(name.startswith("model.") for name in tensors):
        assert "lm_head" in excluded


def check_values(
    values: dict[str, Any], after: Mapping[str, Tensor], kind: str, promise: Promise,
    *, is_encoder: bool,
) -> None:  # fmt: skip
    quantized = [
        name for name, each in after.items() if each.dtype in (E4M3, PACKED) and "scale" not in name
    ]
    assert values["layers_quantized"] == len(quantized) == sum(values["quantized"].values())
    assert values["quantization_type"] == kind
    assert values["quant_algo"] == promise.algorithm
    assert values["kv_cache_dtype"] == ("fp8" if promise.kv_cache else "16-bit")
    calibration = values["calibration"]
    assert (calibration["used"], calibration["size_asked"]) == (16, 16)
    assert calibration["dataset"] == "enginehouse/general"
    if is_encoder and kind.endswith("_kv"):
        [change] = values["effective"]
        assert change["effective"] == kind.removesuffix("_kv")
    else:
        assert values["effective"] == []


def check_loading(
    original: Path, exported: Path, after: Mapping[str, Tensor], promise: Promise
) -> None:
    """Transformers finds every weight; what it has no place for are the scales."""
    checkpoint = open_checkpoint(original, served_as_encoder=False)
    if not promise.is_fp4:
        model, report = checkpoint.model_class.from_pretrained(
            exported, local_files_only=True, output_loading_info=True
        )
        assert model.config.quantization_config["quant_method"] == "modelopt"
        assert not report["missing_keys"]
        assert not report["mismatched_keys"]
        # Under the names that the class has today: Mixtral's were others once.
        scales = {name.replace("block_sparse_moe", "mlp") for name in after if "_scale" in name}
        assert set(report["unexpected_keys"]) in (scales, {*map(_as_5_17_reports, scales)})
    served = load_as_served(checkpoint, exported, device=CPU, dtype=FLOAT32)
    plain = checkpoint.model_class.from_pretrained(original, dtype=FLOAT32).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(exported)("The sky is blue.")["input_ids"]
    with torch.inference_mode():
        one, other = (run_batch(each, [tokens])[0].flatten() for each in (plain, served))
    assert bool(torch.isfinite(other).all())
    assert float(torch.nn.functional.cosine_similarity(one, other, dim=0)) > 0.85


def _as_5_17_reports(scale: str) -> str:
    """Return the name under which Transformers 5.17 has no place for the scale of an expert."""
    return _OF_EXPERT.sub(
        lambda found: (
            f"experts.{'down' if found[1] in ('down_proj', 'w2') else 'gate_up'}_proj_scale"
        ),
        scale,
    )


def test_experts_that_no_sample_reached_have_sound_scales_too(tmp_path: Path) -> None:
    original = make_family("moe", tmp_path / "moe", num_experts=32, num_experts_per_tok=1)
    source = fetched(original, tmp_path / "fetch")
    for kind in ("fp8", "fp4"):
        spec = quantized_spec(original, kind, samples=1)
        out = tmp_path / kind
        run_here("calibrate", spec, out, fetch=source)
        scales = [
            float(each)
            for name, each in tensors_of(out / "model").items()
            if name.endswith(("input_scale", "weight_scale_2"))
        ]
        assert len(scales) >= 32 * 3 * 2
        assert all(0 < each < 100 for each in scales), json.dumps(scales)
