"""Matrices by name: folded, found by pattern, and counted."""

import pytest

from controlplane.domain.facts.matrices import (
    excluded_parameters,
    is_matched,
    nearest,
    of_all_experts,
    read_matrices,
    single_experts,
    torn_apart,
    tower_parameters,
    unmatched,
)

PROJECTIONS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
               "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")  # fmt: skip
DENSE = read_matrices({
    "model.embed_tokens.weight": (100, 8),
    "model.norm.weight": (8,),
    **{f"model.layers.{layer}.{each}.weight": (8, 8)
       for layer in range(12) for each in PROJECTIONS},
})  # fmt: skip
EXPERTS = read_matrices({
    f"model.layers.{layer}.mlp.{each}": (4, 8)
    for layer in (1, 2, 5)
    for each in ("gate.weight", *(f"experts.{number}.{part}.weight" for number in range(3)
                                  for part in ("gate_proj", "up_proj", "down_proj")))
})  # fmt: skip


def test_layers_and_experts_are_folded() -> None:
    assert len(DENSE) == 8
    assert DENSE[0].name == "model.embed_tokens"
    assert not DENSE[0].may_be_quantized
    down = next(each for each in DENSE if each.name.endswith("down_proj"))
    assert (down.name, down.layers) == ("model.layers.{}.mlp.down_proj", ((0, 11),))
    assert (down.parameters, len([*down.modules])) == (64, 12)
    expert = next(each for each in EXPERTS if "experts" in each.name)
    assert expert.name == "model.layers.{}.mlp.experts.*.down_proj"
    assert (expert.layers, expert.parameters) == (((1, 2), (5, 5)), 3 * 32)


@pytest.mark.parametrize(
    ("pattern", "module", "is_named"),
    [
        ("model.layers.1.*", "model.layers.1.mlp.down_proj", True),
        ("model.layers.1.*", "model.layers.10.mlp.down_proj", False),
        ("model.layers.1", "model.layers.1.mlp.down_proj", True),
        ("model.layers.1", "model.layers.10.mlp.down_proj", False),
        ("*.down_proj", "model.layers.3.mlp.down_proj", True),
        ("down_proj", "model.layers.3.mlp.down_proj", False),
    ],
)
def test_a_pattern_names_a_module_or_what_is_above_it(
    pattern: str, module: str, is_named: bool
) -> None:
    assert is_matched(module, [pattern]) is is_named


def test_what_is_not_there_is_told_with_what_was_meant() -> None:
    assert unmatched(DENSE, ["*.o_proj", "*.donw_proj"]) == ["*.donw_proj"]
    assert nearest("*.donw_proj", DENSE) == "*.down_proj"
    assert nearest("model.layers.0.mlp.dwn_proj", DENSE) == "*.down_proj"
    assert nearest("zzz", DENSE) is None


def test_an_expert_by_its_number_and_a_shared_head_are_there() -> None:
    assert unmatched(EXPERTS, ["model.layers.1.mlp.experts.7.*", "lm_head", "*lm_head*"]) == []
    assert unmatched(EXPERTS, ["model.layers.9.mlp.experts.7.*"]) != []
    assert of_all_experts("model.layers.1.mlp.experts.7.*") == "model.layers.1.mlp.experts.*.*"
    assert single_experts(["*.experts.12", "*.experts", "*.experts.*"]) == ["*.experts.12"]


def test_a_number_of_many_digits_is_a_name() -> None:
    (kind,) = read_matrices({f"model.layers.{'9' * 5000}.weight": (2, 2)})
    assert not kind.layers


def test_a_tower_is_no_part_of_what_is_quantized() -> None:
    towers = read_matrices({
        f"vision_tower.encoder.layers.{layer}.mlp.fc1.weight": (8, 8) for layer in range(3)
    })  # fmt: skip
    assert excluded_parameters(towers, ["vision_tower.*"], mlp_only=False) == 0
    assert excluded_parameters(towers, ["vision_tower.*"], mlp_only=True) == 0
    assert tower_parameters(towers) == 3 * 64


def test_what_stays_is_counted_once_and_only_of_what_would_be_quantized() -> None:
    everywhere = ["*.down_proj", "model.layers.0.mlp.down_proj", "model.embed_tokens"]
    assert excluded_parameters(DENSE, everywhere, mlp_only=False) == 12 * 64
    assert excluded_parameters(DENSE, ["model.layers.0.*"], mlp_only=False) == 7 * 64
    assert excluded_parameters(DENSE, ["model.layers.0.*"], mlp_only=True) == 3 * 64
    assert excluded_parameters(EXPERTS, ["*.mlp"], mlp_only=False) == 3 * 3 * 96


@pytest.mark.parametrize(
    ("patterns", "torn"),
    [
        (["*.q_proj"], "model.layers.0.self_attn.q_proj"),
        (["model.layers.3.mlp.gate_proj"], "model.layers.3.mlp.gate_proj"),
        (["*.self_attn.*"], None),
        (["*.o_proj", "*.down_proj"], None),
    ],
)
def test_layers_that_engines_compute_as_one_go_together(
    patterns: list[str], torn: str | None
) -> None:
    outcome = torn_apart(DENSE, patterns)
    assert (outcome[0][0] if outcome else None) == torn


def test_all_matrices_of_experts_go_together() -> None:
    assert torn_apart(EXPERTS, ["*.down_proj"])
    assert not torn_apart(EXPERTS, ["*.experts"])
