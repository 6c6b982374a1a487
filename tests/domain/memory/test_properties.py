"""What must hold of every plan, whatever the model, the GPU and the config."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.gpus import PLANNABLE_GPUS
from controlplane.domain.memory import (
    GpuOffer,
    MemoryPlan,
    UnplannableError,
    changes,
    fit,
    plan,
    plan_report,
)
from controlplane.domain.rules import DeviceOffer
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import parse_mapping
from tests.domain.cases import lines
from tests.domain.configs import configs
from tests.domain.memory.models import LLAMA_8B, planned, public, spec_for
from tests.examples import examples

MODELS = [
    "openai/gpt-oss-20b", "Qwen/Qwen3.5-27B", "deepseek-ai/DeepSeek-R1", "google/gemma-4-26B-A4B",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "meta-llama/Meta-Llama-3.1-70B",
    "Qwen/Qwen3-235B-A22B", "deepseek-ai/DeepSeek-V3.2", "Qwen/Qwen3-VL-30B-A3B-Instruct",
]  # fmt: skip
ANY_MODEL = st.deferred(
    lambda: st.sampled_from(
        [checkpoints.read(case["config"]) for case in lines("parameter_counts.jsonl")]
    )
)
LONGEST = 1_048_576
"""What `max_seq_len` may be at most."""
KINDS = [kind for kind in PLANNABLE_GPUS if kind in {"L4", "H100_40GB", "H100", "B200", "GB300"}]


def _build(**changes: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "max_seq_len": st.integers(1, 200_000),
            "max_num_tokens": st.integers(65, 65_536),
            "max_batch_size": st.integers(1, 1024),
            "tensor_parallel_count": st.sampled_from([1, 2, 4, 8]),
            **changes,
        }
    )


def _order(one: MemoryPlan, other: MemoryPlan) -> None:
    """`one` asks for no less than `other`, so it holds no more."""
    assert one.kv_tokens <= other.kv_tokens
    assert one.full_length_requests <= other.full_length_requests
    assert one.fixed_bytes >= other.fixed_bytes


@examples(120)
@given(st.sampled_from(MODELS), st.sampled_from(KINDS), _build(), st.integers(2, 8))
def test_more_asked_is_never_more_held(
    model: str, kind: str, build: dict[str, Any], times: int
) -> None:
    facts = public(model)

    def held(**changed: Any) -> MemoryPlan:
        body = {**build, **changed}
        return planned(facts, f"{kind}:{body['tensor_parallel_count']}", **body)

    base = held()
    most_tokens = 1_048_576
    _order(held(max_num_tokens=min(most_tokens, build["max_num_tokens"] * times)), base)
    _order(held(max_batch_size=min(2048, build["max_batch_size"] * times)), base)
    longer = held(max_seq_len=min(LONGEST, build["max_seq_len"] * times))
    assert longer.full_length_requests <= base.full_length_requests
    assert longer.kv_cache_bytes <= base.kv_cache_bytes + base.layout.unbounded
    _order(base, held(quantization_type="fp8_kv"))
    _order(held(quantization_type="fp8"), held(quantization_type="fp8_kv"))
    _order(held(quantization_type="fp8"), held(quantization_type="fp4"))
    drafting = {
        "speculative_decoding_mode": "LOOKAHEAD_DECODING", "lookahead_windows_size": 1,
        "lookahead_ngram_size": 1 + times, "lookahead_verification_set_size": 1,
    }  # fmt: skip
    _order(held(speculator=drafting), base)


@examples(80)
@given(st.sampled_from(MODELS), _build(), st.integers(1, 2**38), st.integers(0, 2**36))
def test_a_larger_device_never_holds_less(
    model: str, build: dict[str, Any], size: int, more: int
) -> None:
    spec, facts = spec_for("H100", **build), public(model)
    small, large = (
        plan(
            spec,
            facts,
            DeviceOffer(kind="H100", count=1, memory_bytes=memory),
            RUNTIMES["trtllm"].memory,
        )
        for memory in (size, size + more)
    )
    assert small.kv_tokens <= large.kv_tokens
    assert small.longest_sequence_tokens <= large.longest_sequence_tokens
    assert small.full_length_requests <= large.full_length_requests


@examples(100)
@given(ANY_MODEL, st.sampled_from(KINDS), _build())
def test_the_parts_add_up_to_the_device(facts: Any, kind: str, build: dict[str, Any]) -> None:
    outcome = planned(facts, kind, **build)
    per_gpu = outcome.to_json()["per_gpu"]
    assert per_gpu.pop("device_bytes") == sum(per_gpu.values())
    assert outcome.kv_cache_bytes >= 0
    assert outcome.full_length_requests >= outcome.safe_full_length_requests >= 0
    if not outcome.weights_fit:
        assert (outcome.kv_tokens, outcome.verdict) == (0, "does_not_fit")
        assert outcome.binding in ("weights", "activations")


@examples(80)
@given(configs(), ANY_MODEL, st.sampled_from(["native", "trtllm", "vllm"]))
def test_any_config_and_any_model_give_a_plan_or_a_reason(
    config: dict[str, Any], facts: Any, runtime: str
) -> None:
    spec = parse_mapping(config).spec
    assert spec is not None
    device = DeviceOffer(kind="H100", count=8, memory_bytes=80 * 2**30)
    if runtime == "native" and facts.keeps_state:
        with pytest.raises(UnplannableError, match="state"):
            plan(spec, facts, device, RUNTIMES[runtime].memory)
        return
    outcome = plan(spec, facts, device, RUNTIMES[runtime].memory)
    json.dumps(plan_report(outcome))
    assert all(change.before is outcome for change in changes(outcome))


@examples(20)
@given(ANY_MODEL, st.integers(1, 200_000))
def test_advice_is_ordered_and_every_row_fits(facts: Any, length: int) -> None:
    offers = [GpuOffer(kind="H100", count=8, memory_bytes=80 * 2**30)]
    rows = fit(facts, offers, runtime=RUNTIMES["trtllm"].memory, spec=spec_for(max_seq_len=length))
    assert all(row.fits for row in rows)
    json.dumps([row.to_json() for row in rows])


def test_the_share_of_free_memory_scales_the_cache() -> None:
    device = DeviceOffer(kind="H100", count=1, memory_bytes=80 * 2**30)
    shares = (0.1, 0.5, 0.9, 1.0)
    tokens = [
        plan(
            spec_for("H100", {"kv_cache_free_gpu_mem_fraction": share}),
            LLAMA_8B,
            device,
            RUNTIMES["trtllm"].memory,
        ).kv_tokens
        for share in shares
    ]
    assert tokens == sorted(tokens)
    assert tokens[0] * 10 <= tokens[-1] + 10
