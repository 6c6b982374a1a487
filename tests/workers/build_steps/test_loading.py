"""Where a model's weights go, and what is refused before one of them is read."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from controlplane.domain.forecast.calibration_memory import comparison_bytes
from controlplane.domain.spec import Spec
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.build_steps.quantizing import fetched, quantized_spec, run_here, tensors_of
from workers.build_steps.crashes import told_apart
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import served
from workers.build_steps.options import JobOptions
from workers.build_steps.quantization import loading
from workers.build_steps.quantization.checkpoint import Checkpoint, open_checkpoint
from workers.build_steps.quantization.failures import no_device_memory
from workers.build_steps.quantization.loading import Device, choose_dtype, device_of
from workers.tasks.building import needs

ON_DEVICES = Device(kind="cuda", threads=1)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    folder = make_tiny_checkpoint(tmp_path_factory.mktemp("tiny"))
    return open_checkpoint(folder, served_as_encoder=False)


def placement(
    checkpoint: Checkpoint,
    monkeypatch: pytest.MonkeyPatch,
    *,
    devices: Mapping[int, int],
    host: int = 10**9,
) -> Mapping[str, object]:
    monkeypatch.setattr(loading, "_room_on_devices", lambda: devices)
    monkeypatch.setattr(loading, "free_host_bytes", lambda: host)
    return loading._placement(checkpoint, ON_DEVICES, torch.bfloat16)


def test_a_model_that_fits_goes_on_one_device_a_larger_one_over_all_and_the_rest_to_the_host(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = 2 * (checkpoint.facts.parameters or 0)
    assert placement(checkpoint, monkeypatch, devices={0: weights, 1: 1}) == {"device_map": {"": 0}}
    half = {0: weights // 2, 1: weights // 4}
    assert placement(checkpoint, monkeypatch, devices=half) == {
        "device_map": "sequential",
        "max_memory": half | {"cpu": 800_000_000},
    }


def test_weights_that_neither_devices_nor_host_hold_are_refused_in_figures(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StepFailure) as refused:
        placement(checkpoint, monkeypatch, devices={0: 1000, 1: 1000}, host=1000)
    failure = refused.value.failure
    assert (failure.code, failure.field) == (
        "EHQ-CARD-MEMORY",
        "trt_llm.build.num_builder_gpus",
    )
    assert "2 leased GPU(s)" in failure.sentence


def test_a_device_that_others_fill_is_not_told_as_too_small() -> None:
    words = (
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 139.72 GiB "
        "of which 1.88 MiB is free. Of the allocated memory {} is allocated by PyTorch, and 9.37 "
        "MiB is reserved by PyTorch but unallocated."
    )
    small, full = (no_device_memory(words.format(own), 1).failure
                   for own in ("138.90 GiB", "590.63 MiB"))  # fmt: skip
    assert (small.code, small.field) == ("EHQ-CARD-MEMORY", "trt_llm.build.num_builder_gpus")
    assert (full.code, full.field, full.fix) == ("EHB-CARD-SHARED", None, None)
    offered = told_apart(small, RuntimeError(words.format("138.90 GiB")), "calibrate", {})
    assert offered.sentence == small.sentence
    assert offered.fix == {"trt_llm.build.num_builder_gpus": 2}
    assert "the step asked for 20.00 MiB more and has 590.63 MiB itself" in full.sentence


def test_on_a_cpu_the_type_fits_what_the_build_holds_however_much_is_free(
    checkpoint: Checkpoint,
) -> None:
    spec = Spec.model_validate(quantized_spec(checkpoint.folder, "fp8"))
    device = device_of(JobOptions(memory_bytes=10**12))
    assert choose_dtype(spec, checkpoint, device) is torch.float32
    little = device_of(JobOptions(memory_bytes=10**6))
    assert choose_dtype(spec, checkpoint, little) is torch.bfloat16


ON_A_GPU = {"resources": {"accelerator": "H100"}, "enginehouse": {"runtime": "native"}}
IN_FULL, IN_HALF = ({"enginehouse": {"dtype": each}} for each in ("float32", "bfloat16"))
AS_VECTORS = {"trt_llm": {"build": {"base_model": "encoder"}}}


@pytest.mark.parametrize(
    ("change", "is_native_half", "expected"),
    [
        ({}, False, torch.float32), ({}, True, torch.bfloat16),
        (IN_FULL, True, torch.float32), (IN_HALF, False, torch.bfloat16),
        (AS_VECTORS, True, torch.float32), (ON_A_GPU, False, torch.bfloat16),
    ],
)  # fmt: skip
def test_the_gate_computes_in_what_the_native_engine_will_and_asks_for_that_memory(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch,
    change: dict[str, dict[str, Any]], is_native_half: bool, expected: torch.dtype,
) -> None:  # fmt: skip
    spec = Spec.model_validate(_merged(quantized_spec(checkpoint.folder, "fp8"), change))
    for module in (served, needs, loading):
        monkeypatch.setattr(module, "has_native_bfloat16", lambda: is_native_half)
    device = device_of(JobOptions(memory_bytes=10**12))
    assert served.served_dtype(spec, checkpoint, device) is expected
    if spec.accelerator is None:
        facts = checkpoint.facts.model_dump(mode="json")
        need = needs.step_need("gate", spec, facts, smallest_device_bytes=10**12)
        request = comparison_bytes(
            spec, checkpoint.facts, number_bytes=expected.itemsize, batch_tokens=device.batch_tokens
        )
        assert need.memory_bytes == request


def test_other_engines_are_measured_in_the_checkpoints_own_type(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_vllm = {**ON_A_GPU, "enginehouse": {"runtime": "vllm"}}
    spec = Spec.model_validate(_merged(quantized_spec(checkpoint.folder, "fp8"), on_vllm))
    assert served.served_dtype(spec, checkpoint, ON_DEVICES) is choose_dtype(
        spec, checkpoint, ON_DEVICES
    )


def _merged(spec: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(spec)
    for name, value in change.items():
        old = merged.get(name)
        is_block = isinstance(old, dict) and isinstance(value, Mapping)
        merged[name] = _merged(old, value) if is_block else value
    return merged


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="this machine has no two GPUs")
def test_over_two_devices_and_with_the_hosts_help_the_same_bytes_are_exported(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = quantized_spec(checkpoint.folder, "fp8_kv")
    made = []
    for name, devices in {
        "one": {0: 10**9},
        "two": {0: 150_000, 1: 10**9},
        "host": {0: 90_000, 1: 90_000},
    }.items():
        monkeypatch.setattr(loading, "_room_on_devices", lambda room=devices: room)
        before = fetched(checkpoint.folder, tmp_path / name / "fetch")
        run_here("calibrate", spec, tmp_path / name / "out", {"device": "cuda"}, fetch=before)
        made.append(tensors_of(tmp_path / name / "out" / "model"))
    for tensors in made[1:]:
        assert tensors.keys() == made[0].keys()
        for name, each in tensors.items():
            assert torch.equal(each.float(), made[0][name].float()), name


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_hidden_layers": 1}, "ends before `model.layers.1.input_layernorm.weight`"),
        ({"num_hidden_layers": 3}, "`model.layers.2.input_layernorm.weight` among them"),
        ({"hidden_act": "nonsense"}, "nonsense"),
        ({"num_key_value_heads": 0}, "zero"),
        ({"pad_token_id": 10**9}, "Padding_idx"),
    ],
)
def test_a_config_that_is_not_of_the_weights_is_refused_with_what_is_wrong(
    tmp_path: Path, changes: Mapping[str, Any], said: str
) -> None:
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    config = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    outcome = open_checkpoint(folder, served_as_encoder=False)
    with pytest.raises(StepFailure) as refused:
        loading.load_model(outcome, device=Device(kind="cpu", threads=1), dtype=torch.float32)
    assert refused.value.failure.code == "EHQ-LOAD"
    assert said in refused.value.failure.sentence
