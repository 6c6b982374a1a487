"""A checkpoint that is not whole, or not all numbers, ends its build at `inspect`."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from controlplane.domain.failures import Blame, Failure
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.build_steps.quantizing import CALIBRATION, run_here
from tests.workers.build_steps.supervising import spec_of
from workers.build_steps.failures import StepFailure
from workers.build_steps.step import StepResult
from workers.build_steps.weights import comparing
from workers.build_steps.weights.class_loading import report_of
from workers.build_steps.weights.comparing import NotCompared, compare
from workers.build_steps.weights.stored import stored_tensors

pytestmark = [pytest.mark.process, pytest.mark.engine]

UP = "model.layers.1.mlp.up_proj.weight"
Change = Callable[[Path], Any]


@pytest.fixture
def inspect(
    inspect_in_a_child: Callable[..., StepResult], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., StepResult]:
    """The same with the class loaded here: a process of its own takes seconds of imports."""
    monkeypatch.setattr(
        comparing, "_answer_of_process", lambda folder, shapes: report_of(str(folder), shapes)
    )
    return inspect_in_a_child


@pytest.fixture
def inspect_in_a_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., StepResult]:
    """Fetch and inspect a copy of the tiny checkpoint that was changed; nothing is kept."""
    monkeypatch.setenv("MODEL_CLASS_CACHE", str(tmp_path / "classes"))

    def run(change: Change, *, on: str | None = None, **build: Any) -> StepResult:
        folder = make_tiny_checkpoint(tmp_path / "roots" / "tiny")
        change(folder)
        spec = spec_of(str(folder), on=on, **build)
        offered = [{"kind": on, "count": 1, "memory_bytes": 80 << 30}] if on else None
        options = {
            "local_checkpoint_roots": [str(folder.parent)], "memory_bytes": 2_000_000_000,
            "devices": offered,
        }  # fmt: skip
        fetched = tmp_path / "fetch"
        run_here("fetch", spec, fetched, options)
        return run_here("inspect", spec, tmp_path / "inspect", options, fetch=fetched)

    return run


def tensors(**changes: Callable[[np.ndarray], np.ndarray] | None) -> Change:
    """Write the weights anew with some tensors changed, or left out."""

    def change(folder: Path) -> None:
        path = folder / "model.safetensors"
        outcome = load_file(path)
        for name, act in changes.items():
            stored = outcome.pop(name)
            if act is not None:
                outcome[name] = act(stored.copy())
        save_file(outcome, path, metadata={"format": "pt"})

    return change


def config(**changes: Any) -> Change:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_bytes()) | changes))

    return change


def put(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def act(array: np.ndarray) -> np.ndarray:
        array.flat[-1] = value
        return array

    return act


def refused(inspect: Callable[..., StepResult], change: Change, **build: Any) -> Failure:
    with pytest.raises(StepFailure) as raised:
        inspect(change, **build)
    assert raised.value.failure.blame is Blame.CHECKPOINT
    return raised.value.failure


@pytest.mark.parametrize(
    ("inspecting", "quantization_type"),
    [
        ("inspect", "no_quant"),
        pytest.param("inspect_in_a_child", "fp8", marks=pytest.mark.long),
    ],
)
def test_a_tensor_that_is_not_there_ends_the_build_by_name_whatever_the_precision(
    request: pytest.FixtureRequest, inspecting: str, quantization_type: str
) -> None:
    inspect = request.getfixturevalue(inspecting)
    build = {"quantization_type": quantization_type, "quantization_config": CALIBRATION}
    failure = refused(inspect, tensors(**{UP: None}), **build)
    assert failure.code == "EHB-TENSOR-MISSING"
    assert f"`{UP}`" in failure.sentence
    assert "`LlamaForCausalLM`" in failure.sentence


def test_layers_without_weights_end_the_build(inspect: Callable[..., StepResult]) -> None:
    failure = refused(inspect, config(num_hidden_layers=3))
    assert failure.code == "EHB-TENSOR-MISSING"
    assert "`model.layers.2.input_layernorm.weight`, and 8 more" in failure.sentence


@pytest.mark.parametrize("quantization_type", ["no_quant", "fp8"])
def test_weights_of_layers_that_config_json_does_not_make_end_the_build(
    inspect: Callable[..., StepResult], quantization_type: str
) -> None:
    build = {"quantization_type": quantization_type, "quantization_config": CALIBRATION}
    failure = refused(inspect, config(num_hidden_layers=1), **build)
    assert failure.code == "EHB-TENSOR-BEYOND"
    assert "`model.layers.1.input_layernorm.weight`, and 8 more" in failure.sentence


def test_a_matrix_of_another_shape_ends_the_build(inspect: Callable[..., StepResult]) -> None:
    failure = refused(inspect, tensors(**{UP: lambda array: array[:64]}))
    assert failure.code == "EHP-SHAPE"
    assert f"`{UP}` is [64, 64] and should be [128, 64]" in failure.sentence


@pytest.mark.parametrize(
    ("tensor", "value"),
    [(UP, np.nan), ("model.norm.weight", np.inf), ("model.embed_tokens.weight", np.nan)],
)
def test_one_number_that_is_none_ends_the_build_by_tensor_and_count(
    inspect: Callable[..., StepResult], tensor: str, value: float
) -> None:
    failure = refused(inspect, tensors(**{tensor: put(value)}))
    assert failure.code == "EHB-NOT-FINITE"
    assert f"`{tensor}` holds 1 value that is infinite or not a number" in failure.sentence


def test_a_tensor_that_the_class_does_not_load_may_hold_anything(
    inspect: Callable[..., StepResult],
) -> None:
    def add(folder: Path) -> None:
        path = folder / "model.safetensors"
        mask = {"attention.mask": np.full((4, 4), -np.inf, np.float32)}
        save_file(load_file(path) | mask, path, metadata={"format": "pt"})

    assert inspect(add).values["weights"]["compared"]


def test_a_class_that_transformers_does_not_have_is_said_to_be_not_compared(
    inspect: Callable[..., StepResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_PYTHON", "/opt/engine/bin/python")
    weights = inspect(config(architectures=["OrionForCausalLM"]), on="H100").values["weights"]
    assert not weights["compared"]
    assert "OrionForCausalLM" in weights["reason"]


def test_a_config_that_names_no_class_ends_the_build_before_one_is_looked_for(
    inspect: Callable[..., StepResult],
) -> None:
    with pytest.raises(StepFailure, match=r"EH662: `config\.json` names no class"):
        inspect(config(architectures=None))


def test_no_code_of_the_checkpoint_runs_while_it_is_compared(
    inspect_in_a_child: Callable[..., StepResult], tmp_path: Path
) -> None:
    def bring(folder: Path) -> None:
        config(auto_map={"AutoConfig": "configuration_own.OwnConfig"})(folder)
        (folder / "configuration_own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")

    assert inspect_in_a_child(bring).values["weights"]["compared"]
    assert not (tmp_path / "ran").exists()


def test_an_answer_is_kept_for_checkpoints_of_the_same_config_and_shapes(
    inspect: Callable[..., StepResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("MODEL_CLASS_CACHE", str(cache))
    inspect(lambda folder: None)
    (kept,) = cache.rglob("comparison.json")
    first = kept.stat().st_ino
    for step in ("fetch", "inspect"):
        shutil.rmtree(tmp_path / step)
    inspect(tensors(**{UP: lambda array: array * 2}))
    assert [each.stat().st_ino for each in cache.rglob("comparison.json")] == [first]


@pytest.mark.long  # in this process the same is said of five configs
def test_a_process_says_of_which_config_its_class_cannot_be_made(
    inspect_in_a_child: Callable[..., StepResult],
) -> None:
    failure = refused(inspect_in_a_child, config(num_attention_heads=0))
    assert failure.code == "EHB-CONFIG-UNFIT"
    assert "`num_attention_heads` is 0" in failure.sentence


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hidden_act": "nonsense"}, '`hidden_act` is "nonsense"'),
        ({"rope_parameters": {"rope_type": "odd", "rope_theta": 10000.0}}, "odd"),
        ({"hidden_size": 10**30}, "LlamaForCausalLM"),
        ({"num_hidden_layers": 0}, "`num_hidden_layers` is 0"),
        ({"num_hidden_layers": -2}, "`num_hidden_layers` is -2"),
    ],
)
def test_a_config_of_which_its_class_cannot_be_made_ends_the_build_by_setting(
    inspect: Callable[..., StepResult], changes: dict[str, Any], said: str
) -> None:
    failure = refused(inspect, config(**changes))
    assert failure.code == "EHB-CONFIG-UNFIT"
    assert said in failure.sentence


def test_a_layer_whose_number_has_more_digits_than_python_reads_is_told(tmp_path: Path) -> None:
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    shapes = {name: each.shape for name, each in stored_tensors(folder).items()}
    name = f"model.layers.{'9' * 5000}.mlp.up_proj.weight"
    assert compare(folder, {**shapes, name: (1,)}, cache_dir=None).beyond == (name,)


@pytest.mark.long
def test_a_config_that_takes_a_class_for_ever_is_not_compared_and_does_not_take_the_machine(
    tmp_path: Path,
) -> None:
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    config(num_hidden_layers=10**9)(folder)
    shapes = {name: each.shape for name, each in stored_tensors(folder).items()}
    with pytest.raises(NotCompared, match=r"60 s of CPU|MemoryError|allocate memory"):
        compare(folder, shapes, cache_dir=None)
