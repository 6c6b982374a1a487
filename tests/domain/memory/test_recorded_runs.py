"""The 72 recorded maxima of TensorRT-LLM: met within 2 %, and never exceeded."""

from typing import Any

import pytest

from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.memory import MemoryPlan, plan
from controlplane.domain.rules import DeviceOffer
from controlplane.domain.runtimes import RUNTIMES
from tests.domain.cases import lines
from tests.domain.conftest import MakeSpec
from tests.domain.memory.models import LLAMA_8B, QWEN3_32B_FP8, with_share

ROWS = lines("trtllm_max_sequences.jsonl")


def planned_row(row: dict[str, Any], make_spec: MakeSpec) -> MemoryPlan:
    """Return the plan of the run that a row records."""
    kind, ranks = row["gpu"], row["tensor_parallel"]
    spec = make_spec(
        {"tensor_parallel_count": ranks, "max_num_tokens": row["max_num_tokens"],
         "max_seq_len": row["max_seq_len"]},
        resources={"accelerator": f"{kind}:{ranks}"},
    )  # fmt: skip
    device = DeviceOffer(kind=kind, count=8, memory_bytes=GPUS[kind].memory_bytes or 0)
    checkpoint = QWEN3_32B_FP8 if "Qwen3" in row["model"] else LLAMA_8B
    return plan(
        with_share(spec, row["free_gpu_mem_fraction"]),
        checkpoint,
        device,
        RUNTIMES["trtllm"].memory,
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['gpu']}-{row['max_seq_len']}")
def test_a_recorded_run_is_met_within_two_percent_and_not_exceeded(
    row: dict[str, Any], make_spec: MakeSpec
) -> None:
    measured = row["measured_max_sequences"]
    ours = planned_row(row, make_spec).full_length_requests
    assert 0.98 * measured <= ours <= measured


def test_what_to_count_on_leaves_a_margin_on_the_device_that_fell_short(
    make_spec: MakeSpec,
) -> None:
    for row in ROWS:
        planned = planned_row(row, make_spec)
        requests, safe = planned.full_length_requests, planned.safe_full_length_requests
        if row["gpu"] != "H100":
            assert safe == requests
        elif requests < 50:
            assert safe == requests - 1
        else:
            assert safe == int(0.98 * requests)


def test_all_rows_are_there() -> None:
    assert len(ROWS) == 72
