"""Plans against what engines reported of themselves on GPUs, as kept with the benchmarks."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.memory import MemoryPlan, plan
from controlplane.domain.memory.engine_tables import engine_table_bytes
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.vllm.render import render
from controlplane.domain.spec import parse_mapping
from tests.domain.memory.models import QWEN3_8B, device, spec_for

KEPT = Path(__file__).resolve().parents[3] / "benchmarks/results"
REPORTS = [
    pytest.param(entry, id=f"{entry['config']['model_name']} on {entry['device']['kind']}")
    for path in sorted(KEPT.glob("memory-*.json"))
    for entry in json.loads(path.read_text())
]


def planned(entry: dict[str, Any]) -> MemoryPlan:
    spec = parse_mapping(entry["config"]).spec
    assert spec is not None
    facts = checkpoints.read(entry["checkpoint"], weight_bytes=entry["weight_bytes"])
    present = replace(device(entry["device"]["kind"]), memory_bytes=entry["device"]["memory_bytes"])
    return plan(spec, facts, present, RUNTIMES[entry["runtime"]].memory)


@pytest.mark.parametrize("entry", REPORTS)
def test_weights_are_planned_within_half_a_percent(entry: dict[str, Any]) -> None:
    report, rounding = entry["report"]["weights_bytes"], entry["weights_rounded_to_bytes"]
    assert abs(planned(entry).weights_bytes - report) <= 0.005 * report + rounding / 2


@pytest.mark.parametrize("entry", REPORTS)
def test_tokens_are_planned_within_three_percent_and_one_above(entry: dict[str, Any]) -> None:
    assert -0.03 <= planned(entry).kv_tokens / entry["report"]["kv_tokens"] - 1 <= 0.01


def test_only_matrices_between_one_and_ten_megabytes_leave_rests_of_segments() -> None:
    table = (QWEN3_8B.max_positions or 0) * (QWEN3_8B.head_dim or 0) * 2
    assert engine_table_bytes(QWEN3_8B, number_bytes=2, devices=1) == table
    assert engine_table_bytes(QWEN3_8B, number_bytes=2, devices=8) > table


def test_only_vllm_counts_tables_as_weights() -> None:
    spec = spec_for("H100")
    ours, theirs = (
        plan(spec, QWEN3_8B, device("H100"), RUNTIMES[name].memory).weights_bytes
        for name in ("vllm", "trtllm")
    )
    assert ours - theirs == engine_table_bytes(QWEN3_8B, number_bytes=2, devices=1)


@pytest.mark.parametrize("kind", ["L4", "H100"])
def test_vllm_is_planned_within_the_most_that_its_command_gives_it(kind: str) -> None:
    spec, present = spec_for(kind), device(kind)
    launch = render(
        spec, QWEN3_8B, model_dir="/m", host="h", port=1, python="p", threads=1,
        memory_bytes=present.memory_bytes,
    )  # fmt: skip
    given = launch.argv[launch.argv.index("--gpu-memory-utilization") + 1]
    within = plan(spec, QWEN3_8B, present, RUNTIMES["vllm"].memory)
    used = within.kv_cache_bytes + within.weights_bytes + within.activations_bytes
    assert used + within.overhead_bytes <= float(given) * present.memory_bytes
