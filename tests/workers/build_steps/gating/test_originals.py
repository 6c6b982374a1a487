"""Experts that a checkpoint keeps as one tensor are compared with it one by one."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from controlplane.domain.failures import Failure
from tests.workers.build_steps.gated import STACKED_MOE, Quantized
from tests.workers.build_steps.quantizing import change_export, tensors_of
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating.originals import compare_with_original
from workers.build_steps.gating.scales import check_scales

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
Folders = pytest.TempPathFactory
KINDS = ["fp8", "fp4"]
EXPERT = "model.layers.1.mlp.experts.2"
STACKED = "model.layers.1.feed_forward.experts"
NOT_A_NUMBER = 0x7F
"""In E4M3."""
TENSORS = 2 * (4 + 4 * 3)
"""Quantized ones of two layers: projections of the attention, and three of each of four experts."""


@pytest.fixture(scope="module", params=KINDS)
def made_split(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Quantized:
    """Experts that are one tensor in the checkpoint, and many in its export."""
    return Quantized(STACKED_MOE, request.param, tmp_path_factory.mktemp("split"))


@pytest.fixture(scope="module", params=KINDS)
def made_whole(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Quantized:
    """Experts that are one tensor in the checkpoint and in its export."""
    return Quantized("llama4", request.param, tmp_path_factory.mktemp("whole"))


@pytest.fixture
def split(made_split: Quantized, tmp_path: Path) -> Quantized:
    return made_split.copied(tmp_path / "split")


@pytest.fixture
def whole(made_whole: Quantized, tmp_path: Path) -> Quantized:
    return made_whole.copied(tmp_path / "whole")


def refused(quantized: Quantized) -> Failure:
    with pytest.raises(StepFailure) as raised:
        compare_with_original(quantized.fetch / "model", quantized.model)
    failure = raised.value.failure
    assert failure.blame == "ours"
    return failure


def harm(quantized: Quantized, name: str, change: Callable[[Tensor], Tensor]) -> None:
    change_export(quantized.model, {name: change(tensors_of(quantized.model)[name])})


def scale_of_all(quantized: Quantized, weight: str) -> str:
    """Return the scale that all numbers of a weight share."""
    of_blocks = f"{weight}_scale_2"
    return of_blocks if of_blocks in tensors_of(quantized.model) else f"{weight}_scale"


def test_experts_that_the_export_splits_are_compared_each(split: Quantized) -> None:
    assert split.gate()["weights"] == {
        "quantized": TENSORS, "compared": TENSORS, "not_compared": {},
    }  # fmt: skip


def test_experts_that_stay_one_tensor_are_compared(whole: Quantized) -> None:
    weights = whole.gate()["weights"]
    assert (weights["compared"], weights["not_compared"]) == (weights["quantized"], {})


@pytest.mark.parametrize("projection", ["gate_proj", "up_proj", "down_proj"])
def test_the_scale_of_one_expert_is_compared_with_its_part(
    projection: str, split: Quantized
) -> None:
    scale = scale_of_all(split, f"{EXPERT}.{projection}.weight")
    harm(split, scale, lambda found: found * 2)
    failure = refused(split)
    assert failure.code == "EHG-SCALE-FOREIGN"
    assert f"`{scale}`" in failure.sentence


@pytest.mark.parametrize("projection", ["gate_proj", "up_proj", "down_proj"])
def test_numbers_of_another_row_of_an_expert_are_foreign(projection: str, split: Quantized) -> None:
    weight = f"{EXPERT}.{projection}.weight"
    harm(split, weight, lambda found: found.flip(0))
    failure = refused(split)
    assert failure.code == "EHG-WEIGHT-FOREIGN"
    assert f"`{weight}`" in failure.sentence


def test_an_expert_in_anothers_place_is_foreign(split: Quantized) -> None:
    other = {name: each for name, each in tensors_of(split.model).items() if f"{EXPERT}." in name}
    change_export(
        split.model, {name.replace("experts.2", "experts.0"): each for name, each in other.items()}
    )
    failure = refused(split)
    assert failure.code in ("EHG-SCALE-FOREIGN", "EHG-WEIGHT-FOREIGN")
    assert "`model.layers.1.mlp.experts.0." in failure.sentence


def test_the_halves_of_an_expert_are_not_taken_for_each_other(split: Quantized) -> None:
    tensors = tensors_of(split.model)
    names = [each for each in tensors if f"{EXPERT}.gate_proj." in each]
    change_export(
        split.model,
        {each.replace("gate_proj", "up_proj"): tensors[each] for each in names}
        | {each: tensors[each.replace("gate_proj", "up_proj")] for each in names},
    )
    assert f"`{EXPERT}." in refused(split).sentence


@pytest.mark.parametrize("projection", ["gate_up_proj", "down_proj"])
def test_the_scale_of_all_experts_is_compared(projection: str, whole: Quantized) -> None:
    scale = scale_of_all(whole, f"{STACKED}.{projection}_weight")
    harm(whole, scale, lambda found: found * 2)
    failure = refused(whole)
    assert failure.code == "EHG-SCALE-FOREIGN"
    assert f"`{scale}` is 2 times" in failure.sentence


@pytest.mark.parametrize("projection", ["gate_up_proj", "down_proj"])
def test_numbers_of_one_expert_among_all_are_foreign(projection: str, whole: Quantized) -> None:
    def changed(found: Tensor) -> Tensor:
        codes = found.view(torch.uint8)
        codes[3] = codes[3].flip(-1)
        return found

    harm(whole, f"{STACKED}.{projection}", changed)
    failure = refused(whole)
    assert f"`{STACKED}.{projection}" in failure.sentence
    assert "expert 3" in failure.sentence


@pytest.mark.parametrize("made_whole", ["fp4"], indirect=True)
def test_blocks_of_one_expert_among_all_are_compared(whole: Quantized) -> None:
    scale = f"{STACKED}.gate_up_proj_weight_scale"

    def changed(found: Tensor) -> Tensor:
        numbers = found.float()
        numbers[1] = numbers[1].roll(1, -1)
        return numbers.to(found.dtype)

    harm(whole, scale, changed)
    failure = refused(whole)
    assert failure.code == "EHG-SCALE-FOREIGN"
    assert f"`{scale}` (expert 1, row 0, block" in failure.sentence


def test_what_is_no_number_is_named(split: Quantized) -> None:
    name = f"{EXPERT}.up_proj.weight"
    is_fp8 = tensors_of(split.model)[name].dtype is torch.float8_e4m3fn
    name = name if is_fp8 else f"{name}_scale"

    def change(found: Tensor) -> Tensor:
        found.view(torch.uint8)[3, 1] = NOT_A_NUMBER if is_fp8 else NOT_A_NUMBER | 0x80
        return found

    harm(split, name, change)
    failure = refused(split)
    assert f"`{name}`" in failure.sentence
    assert "nan" in failure.sentence


def test_scales_of_stacked_experts_in_another_shape_are_refused(whole: Quantized) -> None:
    scale = f"{STACKED}.gate_up_proj_weight_scale"
    change_export(whole.model, {scale: torch.ones(3)})
    with pytest.raises(StepFailure) as raised:
        check_scales(whole.model, {})
    assert f"`{scale}` has the shape [3]" in raised.value.failure.sentence


def test_experts_that_the_original_calls_otherwise_are_named_as_not_compared(
    split: Quantized, caplog: pytest.LogCaptureFixture
) -> None:
    path = split.fetch / "model" / "model.safetensors"
    renamed = {
        name.replace("mlp.experts", "mlp.mixture"): each for name, each in load_file(path).items()
    }
    save_file(renamed, path)
    with caplog.at_level("WARNING"):
        report = compare_with_original(path.parent, split.model)
    assert f"`{EXPERT}.up_proj.weight` could not be compared" in caplog.text
    assert f"{EXPERT}.up_proj.weight" in report.not_compared
    kinds = ["down_proj", "gate_proj", "up_proj"]
    assert report.to_json() == {
        "quantized": TENSORS,
        "compared": 8,
        "not_compared": {f"mlp.experts.*.{each}.weight": 8 for each in kinds},
    }
