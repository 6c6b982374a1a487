"""Calibration as a real child, and everything that it refuses before or in the middle of it."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from controlplane.artifacts import ArtifactStore, input_digest, input_document
from controlplane.artifacts.durable import means_disk_full
from controlplane.domain.spec.choices import QuantizationType
from tests.gates import Gates
from tests.manual_clock import ManualClock
from tests.small_disks import small_files
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.tiny_families import make_family
from tests.trained_checkpoint import make_trained
from tests.workers.build_steps.quantizing import (
    change_export,
    fetched,
    inspected,
    quantized_spec,
    read_json,
    refused,
    run_here,
    tensors_of,
)
from tests.workers.build_steps.supervising import Supervisor, finished, run
from workers.build_steps import outputs
from workers.build_steps.child import OutcomeKind, StepCommand, Verdict
from workers.build_steps.environment import SAMPLES_GATE
from workers.build_steps.failures import StepFailure
from workers.build_steps.processes import kill_all
from workers.build_steps.quantization import memory
from workers.build_steps.quantization.calibrating import batches, calibrate, without_logits
from workers.build_steps.quantization.loading import Device
from workers.build_steps.quantization.modelopt import presets
from workers.build_steps.quantization.recipes import find_recipe, modelopt_config
from workers.build_steps.time_left import Pace
from workers.build_steps.versions import tool_versions

pytestmark = [pytest.mark.engine, pytest.mark.process, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def quantizing(supervisor: Supervisor) -> Supervisor:
    supervisor.options = {"memory_bytes": 8_000_000_000}
    return supervisor


@pytest.mark.long  # tests/workers/tasks/test_quantized.py has a build's real children do it
def test_a_checkpoint_is_calibrated_gated_and_packaged_by_real_children(
    quantizing: Supervisor, tiny: Path
) -> None:
    spec = quantized_spec(tiny, "fp8_kv")
    folders: dict[str, Path] = {}
    for step in ("fetch", "inspect"):
        # The rules hold quantization back until the wiring serves it; the files are what counts.
        if step == "inspect":
            folders[step] = inspected(quantizing.folder / "steps" / step)
        else:
            folders[step] = finished(quantizing, step, spec, **folders)
    for step in ("calibrate", "gate", "package"):
        folders[step] = finished(quantizing, step, spec, **folders)
    samples = [each for each in quantizing.progress if each.unit == "samples"]
    assert any(each.seconds_left is not None for each in samples)
    assert all(outputs.verify(folders[step]) for step in ("calibrate", "gate"))

    values, fetch = outputs.read(folders["package"]).values, outputs.read(folders["fetch"]).values
    passport = values["passport"]
    assert passport["quantization"]["modelopt_configs"] == ["FP8_DEFAULT_CFG", "FP8_KV_CFG"]
    assert passport["quantization"]["kv_cache_layers"] == 2
    assert passport["calibration"]["used"] == 16
    assert passport["gate"]["state"] == "unmeasured", "a random model guesses"
    assert passport["promoted"] is None
    assert fetch["calibration"]["dataset"] == "enginehouse/general"
    inputs = input_document(fetch["commit"], spec, tool_versions(), fetch["calibration"])
    assert values["inputs"] == inputs
    assert values["input_digest"] == input_digest(inputs)
    store = ArtifactStore.open((quantizing.folder / "artifacts").as_uri())
    paths = {each.path for each in store.verify(values["content_digest"]).files}
    assert {"config.json", "hf_quant_config.json", "model.safetensors", "tokenizer.json"} <= paths
    assert "samples.json" not in paths


def test_what_failed_the_gate_is_packaged_only_when_somebody_promotes_it(
    tmp_path: Path, quantizing: Supervisor
) -> None:
    trained = make_trained(tmp_path / "trained")
    spec = quantized_spec(trained, "fp8")
    inputs = {
        "fetch": fetched(trained, tmp_path / "fetch"),
        "inspect": inspected(tmp_path / "inspect"),
    }
    run_here("calibrate", spec, tmp_path / "calibrate", fetch=inputs["fetch"])
    inputs["calibrate"] = tmp_path / "calibrate"
    surer = tensors_of(inputs["calibrate"] / "model")["model.norm.weight"] * 2
    change_export(inputs["calibrate"] / "model", {"model.norm.weight": surer})
    result = run_here("gate", spec, tmp_path / "gate", **inputs)
    assert result.values["state"] == "failed"
    inputs["gate"] = tmp_path / "gate"
    refused = run(quantizing, "package", spec, **inputs)
    assert refused.failure is not None
    assert refused.failure.code == "EHG-PERPLEXITY"
    quantizing.options["promoted"] = {
        "accepted": refused.failure.sentence,
        "by": "ada@example.com",
        "at": "2026-11-29T08:00:00+00:00",
        "reason": "a demonstration",
    }
    assert finished(quantizing, "package", spec, **inputs)
    passport = read_json(quantizing.folder / "steps" / "package" / "passport.json")
    assert passport["promoted"]["by"] == "ada@example.com"
    assert passport["gate"]["state"] == "failed"


@pytest.fixture
def calibrating(supervisor: Supervisor, tiny: Path, gates: Gates) -> StepCommand:
    """A calibration that stands still after the first of many batches."""
    gates.hold(SAMPLES_GATE)
    path = supervisor.folder / "many.jsonl"
    words = "The sky is blue and the sea is deep. " * 60
    path.write_text("".join(json.dumps({"text": f"{n} {words}"}) + "\n" for n in range(40)))
    supervisor.options = {
        "memory_bytes": 8_000_000_000,
        "local_checkpoint_roots": [str(supervisor.folder)],
    }
    calibration = {"calib_dataset": str(path), "calib_max_seq_length": 512}
    spec = quantized_spec(tiny, "fp8_kv", samples=32, quantization_config=calibration)
    job = supervisor.job("calibrate", spec, fetch=fetched(tiny, supervisor.folder / "fetch"))
    return supervisor.command("calibrate", job, environment=gates.environment)


@pytest.mark.long
def test_a_cancel_in_the_middle_of_calibration_ends_it_at_once(
    supervisor: Supervisor, calibrating: StepCommand, gates: Gates
) -> None:
    def cancel() -> Verdict:
        return Verdict.CANCEL if gates.came(SAMPLES_GATE) else Verdict.CONTINUE

    outcome = supervisor.run(calibrating, cancel)
    assert outcome.kind is OutcomeKind.CANCELLED, supervisor.log.decode()
    assert supervisor.marked() == []


@pytest.mark.long
@pytest.mark.recovery
def test_a_kill_in_the_middle_of_calibration_leaves_nothing_to_publish(
    supervisor: Supervisor, calibrating: StepCommand, gates: Gates
) -> None:
    def kill() -> Verdict:
        if gates.came(SAMPLES_GATE):
            kill_all(lambda each: each.pid in {outcome.pid for outcome in supervisor.marked()})
        return Verdict.CONTINUE

    outcome = supervisor.run(calibrating, kill)
    assert outcome.kind is OutcomeKind.CRASHED, supervisor.log.decode()
    assert outcome.failure is not None
    assert outcome.failure.code == "EHB-KILLED"
    assert not outputs.verify(supervisor.folder / "tmp" / "calibrate")
    assert supervisor.marked() == []


def test_a_disk_that_fills_up_during_export_is_told_as_such(tiny: Path, tmp_path: Path) -> None:
    source, spec = fetched(tiny, tmp_path / "fetch"), quantized_spec(tiny, "fp8")
    with small_files(60_000), pytest.raises(OSError, match="too large") as raised:
        run_here("calibrate", spec, tmp_path / "out", fetch=source)
    assert means_disk_full(raised.value), "which the step's process reports as EHB-DISK-FULL"
    assert not outputs.verify(tmp_path / "out")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"architectures": ["NeverHeardOfForCausalLM"]}, "EHQ-ARCHITECTURE"),
        ({"architectures": None}, "EHQ-ARCHITECTURE"),
        ({"architectures": ["OwnForCausalLM"], "auto_map": {"AutoModel": "own.Own"}},
         "EHQ-REMOTE-CODE"),
        ({"num_hidden_layers": 3}, "EHQ-LOAD"),
        ({"hidden_size": 32}, "EHP-SHAPE"),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_is_told_apart(
    changes: dict[str, Any], code: str, tmp_path: Path
) -> None:
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    config = read_json(folder / "config.json")
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    failure = refused(folder, tmp_path, quantized_spec(folder, "fp8"))
    assert failure.code == code
    assert failure.blame == "checkpoint"


@pytest.mark.long
def test_weights_of_other_shapes_are_told_by_tensor_and_both_shapes_in_a_real_child(
    quantizing: Supervisor, tmp_path: Path
) -> None:
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    config = read_json(folder / "config.json")
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 96}))
    inputs = {
        "fetch": fetched(folder, tmp_path / "fetch"),
        "inspect": inspected(tmp_path / "inspect"),
    }
    ended = run(quantizing, "calibrate", quantized_spec(folder, "fp8"), **inputs)
    assert ended.failure is not None
    assert (ended.failure.code, ended.failure.blame) == ("EHP-SHAPE", "checkpoint")
    assert "mlp.down_proj.weight` is [64, 128] and should be [64, 96]" in ended.failure.sentence


def test_weights_of_other_shapes_are_told_by_tensor_and_both_shapes(tmp_path: Path) -> None:
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    config = read_json(folder / "config.json")
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 96}))
    failure = refused(folder, tmp_path, quantized_spec(folder, "fp8"))
    assert (failure.code, failure.blame) == ("EHP-SHAPE", "checkpoint")
    assert "mlp.down_proj.weight` is [64, 128] and should be [64, 96]" in failure.sentence


def test_a_checkpoint_without_a_tokenizer_is_told(tmp_path: Path) -> None:
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    (folder / "tokenizer.json").unlink()
    assert refused(folder, tmp_path, quantized_spec(folder, "fp8")).code == "EHQ-TOKENIZER"


def test_types_of_an_engine_that_is_gone_are_refused(tiny: Path, tmp_path: Path) -> None:
    failure = refused(tiny, tmp_path, quantized_spec(tiny, "smooth_quant"))
    assert failure.code == "EHQ-TYPE"
    assert failure.fix == {"trt_llm.build.quantization_type": "fp8"}


def test_a_machine_too_small_says_bytes_needed_and_free(tiny: Path, tmp_path: Path) -> None:
    failure = refused(tiny, tmp_path, quantized_spec(tiny, "fp8"), memory_bytes=1_000_000)
    assert failure.code == "EHQ-MEMORY"
    assert failure.blame == "machine"
    assert "1,000,000 bytes" in failure.sentence


def test_a_build_that_was_promised_a_device_and_sees_none_says_so(
    tiny: Path, tmp_path: Path
) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    failure = refused(tiny, tmp_path, quantized_spec(tiny, "fp8"), device="cuda")
    assert failure.code == "EHQ-NO-CARD"


def changed_up_proj(folder: Path, value: float) -> Path:
    from safetensors.torch import save_file

    make_family("llama", folder)
    weights = tensors_of(folder)
    weights["model.layers.1.mlp.up_proj.weight"][:] = value
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_weights_that_are_no_numbers_are_not_calibrated(tmp_path: Path) -> None:
    folder = changed_up_proj(tmp_path / "infinite", float("inf"))
    failure = refused(folder, tmp_path, quantized_spec(folder, "fp8"))
    assert failure.code == "EHQ-LOAD"
    assert "`model.layers.1.mlp.up_proj.weight` holds infinities" in failure.sentence


def test_weights_whose_products_overflow_are_found_during_calibration(tmp_path: Path) -> None:
    folder = changed_up_proj(tmp_path / "large", 3e38)
    failure = refused(folder, tmp_path, quantized_spec(folder, "fp8"))
    assert failure.code == "EHQ-NOT-FINITE"


def test_widths_that_fp4_has_no_blocks_for_are_refused_by_name(tmp_path: Path) -> None:
    folder = make_family("llama", tmp_path / "odd", intermediate_size=120)
    failure = refused(folder, tmp_path, quantized_spec(folder, "fp4"))
    assert failure.code == "EHQ-BLOCKS"
    assert "mlp.down_proj" in failure.sentence


def test_equal_inputs_give_equal_bytes(tiny: Path, tmp_path: Path) -> None:
    source, spec = fetched(tiny, tmp_path / "fetch"), quantized_spec(tiny, "fp8_kv")
    for name in ("one", "two"):
        run_here("calibrate", spec, tmp_path / name, fetch=source)
    files = [
        {each.path: each.sha256 for each in outputs.read(tmp_path / name).files}
        for name in ("one", "two")
    ]
    assert files[0] == files[1]


def test_a_data_set_that_changed_since_the_fetch_is_refused(tiny: Path, tmp_path: Path) -> None:
    source = fetched(tiny, tmp_path / "fetch")
    began_with = {"dataset": "enginehouse/general", "revision": "sha256:0123"}
    values = {**outputs.read(source).values, "calibration": began_with}
    outputs.seal(source, step="fetch", values=values, digests={})
    with pytest.raises(StepFailure) as raised:
        run_here("calibrate", quantized_spec(tiny, "fp8"), tmp_path / "out", fetch=source)
    assert raised.value.failure.code == "EHC-CHANGED"


def test_logits_that_no_scale_comes_from_are_not_computed(tiny: Path) -> None:
    model = _calibrated(tiny)
    assert without_logits(model) == {"logits_to_keep": 1}
    model.lm_head.input_quantizer.enable()
    assert without_logits(model) == {}


def test_scales_are_the_same_without_the_logits(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spared = _largest_inputs(_calibrated(tiny))
    monkeypatch.setattr(f"{calibrate.__module__}.without_logits", lambda model: {})
    assert spared == _largest_inputs(_calibrated(tiny))
    assert len(spared) > 4


def _calibrated(folder: Path) -> Any:
    recipe = find_recipe(QuantizationType.FP8)
    return calibrate(
        transformers.AutoModelForCausalLM.from_pretrained(folder),
        modelopt_config(recipe, presets, has_kv_cache=True, is_encoder=False),
        [[5, 6, 7, 8], [9, 10, 11, 12], [3, 4]],
        device=Device(kind="cpu", threads=1),
        on_samples=lambda done, total, left: None,
    )


def _largest_inputs(model: Any) -> dict[str, float]:
    return {
        name: float(each.amax)
        for name, each in model.named_modules()
        if name.endswith("input_quantizer") and each.is_enabled
    }


def test_only_equally_long_samples_share_a_batch() -> None:
    samples = [[1] * 4, [2] * 3, [3] * 4, [4] * 4, [5] * 9]
    entries = [[len(each) for each in batch] for batch in batches(samples, 8)]
    assert entries == [[4, 4], [4], [3], [9]]


def test_what_is_left_takes_as_long_as_what_is_done_took() -> None:
    clock = ManualClock()
    pace = Pace(10, clock=clock)
    assert pace.seconds_left(0) is None
    clock.advance(6)
    assert pace.seconds_left(4) == 9
    assert pace.seconds_left(10) == 0


def test_a_container_limit_counts_as_free_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    whole = memory.free_host_bytes()
    assert whole > 0
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    assert memory.free_host_bytes() == 2_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.free_host_bytes() > 2_000_000


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path) -> Iterator[None]:
    yield
    shutil.rmtree(tmp_path / "refused", ignore_errors=True)
