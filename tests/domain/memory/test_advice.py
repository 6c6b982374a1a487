"""What a change would bring, what the build takes, and which GPUs a model runs on."""

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.memory import (
    Change,
    FitRow,
    GpuOffer,
    build_estimate,
    builder_devices,
    changes,
    every_offer,
    fit,
    plan_report,
)
from controlplane.domain.memory.changes import patched
from controlplane.domain.rules.examples import LLAMA_70B, QWEN2_7B
from controlplane.domain.runtimes import RUNTIMES
from tests.domain.memory.models import (
    LLAMA_8B,
    QWEN3_32B_FP8,
    device,
    planned,
    public,
    spec_for,
)

TRTLLM, VLLM = RUNTIMES["trtllm"].memory, RUNTIMES["vllm"].memory

GIB = 2**30


def _by_kind(found: tuple[Change, ...]) -> dict[str, Change]:
    return {change.kind: change for change in found}


def test_more_devices_and_less_precision_are_planned_as_data() -> None:
    by_kind = _by_kind(
        changes(planned(LLAMA_70B, "H100:2", max_num_tokens=16_384, max_seq_len=8192))
    )
    assert by_kind["more_devices"].patch == {
        "resources.accelerator": "H100:4", "trt_llm.build.tensor_parallel_count": 4,
    }  # fmt: skip
    assert by_kind["less_precision"].patch == {"trt_llm.build.quantization_type": "fp8"}
    assert by_kind["smaller_steps"].patch == {"trt_llm.build.max_num_tokens": 8192}
    for change in by_kind.values():
        assert change.more_tokens > 0
        assert change.to_json()["kv_tokens"] == change.plan.kv_tokens


def test_a_request_that_is_too_long_is_offered_the_longest_that_fits() -> None:
    before = planned(LLAMA_8B, "L4", max_seq_len=131_072)
    change = _by_kind(changes(before))["shorter_sequences"]
    assert change.plan.full_length_requests >= 1
    length = change.patch["trt_llm.build.max_seq_len"]
    assert before.layout.request_bytes(length) <= before.kv_cache_bytes


def test_less_precision_keeps_away_from_what_the_device_or_the_family_does_not_take() -> None:
    assert "less_precision" not in _by_kind(changes(planned(LLAMA_8B, "A100")))
    assert "less_precision" not in _by_kind(
        changes(planned(QWEN2_7B, "H100", quantization_type="fp8"))
    )
    calibrated = _by_kind(changes(planned(QWEN2_7B, "H100")))["less_precision"]
    assert calibrated.patch["trt_llm.build.quantization_config.calib_size"] == 1024
    assert "less_precision" not in _by_kind(changes(planned(QWEN3_32B_FP8)))


def test_a_patch_that_the_schema_refuses_raises() -> None:
    with pytest.raises(ValueError, match="max_seq_len"):
        patched(spec_for(), {"trt_llm.build.max_seq_len": -1})


def test_quantizing_seventy_billion_needs_four_devices_where_serving_needs_two() -> None:
    spec = spec_for("H100:2", quantization_type="fp8", tensor_parallel_count=2)
    build = build_estimate(spec, LLAMA_70B, device("H100"))
    assert build.need is not None
    assert (build.need.devices, build.leased_devices, build.verdict) == (4, 2, "too_few_devices")
    assert planned(LLAMA_70B, "H100:2", quantization_type="fp8", max_seq_len=8192).verdict == "fits"
    enough = spec_for("H100:2", quantization_type="fp8", num_builder_gpus=4)
    assert build_estimate(enough, LLAMA_70B, device("H100")).verdict == "fits"


def test_nothing_is_calibrated_without_quantization() -> None:
    assert build_estimate(spec_for(), LLAMA_8B, device("H100")).need is None
    assert builder_devices(spec_for(), LLAMA_8B, 80 * GIB) is None


def _fit(facts: checkpoints.CheckpointFacts, *offers: GpuOffer, **build: object) -> list[FitRow]:
    spec = spec_for(max_seq_len=8192, **build)  # type: ignore[arg-type]
    return list(fit(facts, offers or every_offer(), runtime=TRTLLM, spec=spec))


def test_every_row_that_is_returned_holds_a_full_length_request() -> None:
    rows = _fit(LLAMA_70B)
    assert rows
    assert all(row.plan and row.plan.full_length_requests >= 1 for row in rows)
    costs = [row.relative_cost for row in rows]
    tight = [row.plan.verdict == "tight" for row in rows if row.plan]
    assert costs[: tight.index(True) if True in tight else None] == sorted(
        costs[: tight.index(True) if True in tight else None]
    )


def test_owned_devices_come_before_those_that_one_might_get() -> None:
    owned = GpuOffer(kind="A100", count=8, memory_bytes=80 * GIB)
    rows = _fit(LLAMA_70B, owned, *every_offer())
    first_other = next(n for n, row in enumerate(rows) if not row.offer.owned)
    assert all(row.offer.kind == "A100" for row in rows[:first_other])
    assert not any(row.offer.owned for row in rows[first_other:])


def test_what_is_refused_says_why() -> None:
    offers = [GpuOffer(kind="A100", count=1, memory_bytes=80 * GIB)]
    rows = fit(QWEN2_7B, offers, runtime=TRTLLM, spec=spec_for(), with_refused=True)
    reasons = {row.quantization_type: " ".join(row.reasons) for row in rows if row.plan is None}
    assert "8.9" in reasons["fp8"]
    assert "10.0" in reasons["fp4"]
    h100 = [GpuOffer(kind="H100", count=1, memory_bytes=80 * GIB)]
    kv = {row.quantization_type: row for row in
          fit(QWEN2_7B, h100, runtime=TRTLLM, spec=spec_for(), with_refused=True)}  # fmt: skip
    assert "bias" in " ".join(kv["fp8_kv"].reasons)
    assert kv["fp8"].fits


def test_a_checkpoint_in_fp8_is_not_offered_an_a100_nor_another_precision() -> None:
    kinds = {row.offer.kind for row in _fit(QWEN3_32B_FP8)}
    assert "A100" not in kinds
    assert "H100" in kinds
    assert {row.quantization_type for row in _fit(QWEN3_32B_FP8)} == {"no_quant"}


def test_fp4_on_hopper_is_emulated_by_the_runtime_that_can() -> None:
    h100 = [GpuOffer(kind="H100", count=1, memory_bytes=80 * GIB)]
    native = fit(LLAMA_8B, h100, runtime=TRTLLM, spec=spec_for())
    assert not any(row.quantization_type.startswith("fp4") for row in native)
    emulated = fit(LLAMA_8B, h100, spec=spec_for(), runtime=VLLM)
    row = next(row for row in emulated if row.quantization_type == "fp4")
    assert "emulated" in " ".join(row.reasons)
    assert "3 to 5 points" in " ".join(row.reasons)


def test_int4_on_an_a100_is_a_column_of_the_engine_that_loads_it() -> None:
    a100, spec = [GpuOffer(kind="A100", count=1, memory_bytes=80 * GIB)], spec_for(max_seq_len=8192)
    outcome = fit(LLAMA_70B, a100, runtime=VLLM, spec=spec, with_refused=True)
    rows = {row.quantization_type: row for row in outcome}
    assert rows["int4_awq"].fits
    assert "16 bits" in " ".join(rows["int4_awq"].reasons)
    assert not rows["no_quant"].fits
    outcome = fit(LLAMA_70B, a100, runtime=TRTLLM, spec=spec, with_refused=True)
    refused = next(row for row in outcome if row.quantization_type == "int4_awq")
    assert refused.plan is None
    assert "compressed-tensors" in " ".join(refused.reasons)


def test_int4_of_experts_is_no_column() -> None:
    h100 = [GpuOffer(kind="H100", count=8, memory_bytes=80 * GIB)]
    experts = LLAMA_70B.model_copy(update={"experts": 8})
    rows = fit(experts, h100, runtime=VLLM, spec=spec_for(max_seq_len=8192), with_refused=True)
    assert all(row.plan is None for row in rows if row.quantization_type == "int4_awq")


def test_int4_is_multiplied_in_16_bits_and_read_in_4() -> None:
    h100 = [GpuOffer(kind="H100", count=1, memory_bytes=80 * GIB)]
    rows = fit(LLAMA_8B, h100, runtime=VLLM, spec=spec_for(max_seq_len=8192))
    free = {
        row.quantization_type: row.plan.speed.free_verification_tokens
        for row in rows
        if row.plan is not None and row.plan.speed is not None
    }
    assert free["int4_awq"] < min(free["fp4"], free["no_quant"])


def test_heads_that_do_not_divide_get_stages_instead() -> None:
    facts = LLAMA_70B.model_copy(update={"attention_heads": 28, "kv_heads": 4, "head_dim": 256})
    offers = [GpuOffer(kind="H100", count=8, memory_bytes=80 * GIB)]
    rows = fit(facts, offers, runtime=TRTLLM, spec=spec_for(max_seq_len=8192))
    divisions = {(row.tensor_parallel, row.pipeline_parallel) for row in rows}
    assert (4, 2) in divisions
    assert all(ranks in (1, 2, 4) for ranks, _ in divisions)


def test_a_row_is_stable_data() -> None:
    row = _fit(LLAMA_8B)[0].to_json()
    assert set(row) == {
        "gpu", "count", "owned", "quantization_type", "tensor_parallel", "pipeline_parallel",
        "verdict", "kv_tokens", "sequence_tokens", "full_length_requests",
        "longest_sequence_tokens",
        "tokens_per_second", "usd_per_million_tokens", "reasons",
    }  # fmt: skip


def test_a_report_has_builder_changes_engine_and_advice_beside_the_plan() -> None:
    rows = _fit(LLAMA_8B)[:3]
    report = plan_report(planned(LLAMA_8B), advice=rows)
    assert {"model", "per_gpu", "capacity", "builder", "changes", "engine", "advice"} <= set(report)
    assert len(report["advice"]) == 3
    assert report["engine"]["name"] == "Engine-Builder-LLM"
    assert report["builder"]["verdict"] == "fits"
    assert "minutes" not in report["builder"], "which the forecast says, and nothing else"


def test_a_large_mixture_finds_a_place_on_a_host_of_h200() -> None:
    rows = fit(
        public("Qwen/Qwen3-235B-A22B"),
        [GpuOffer(kind="H200", count=8, memory_bytes=141 * GIB)],
        runtime=TRTLLM,
        spec=spec_for(max_seq_len=32_768),
    )
    assert {row.devices for row in rows if row.quantization_type == "no_quant"} == {4, 8}
