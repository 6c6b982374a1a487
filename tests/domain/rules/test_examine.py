"""The one question that every reader asks: it answers for any config and any facts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.failures import Blame, Failure
from controlplane.domain.memory import UnplannableError, plan
from controlplane.domain.rules import DeviceOffer, Examination, Known, Severity, every_kind, examine
from controlplane.domain.rules.examples import (
    BERT,
    CPU_ONLY,
    EVERY_KIND,
    LLAMA_8B,
    LLAMA_70B,
    QWEN2_7B,
    SMOLLM2_135M,
    Example,
    facts,
)
from controlplane.domain.rules.reference import write_reference
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import parse_mapping, parse_text
from controlplane.domain.spec.edit import edit_yaml
from controlplane.management.commands.write_rule_reference import REFERENCE
from tests.domain.configs import configs
from tests.examples import examples

FAILED = Failure(
    code="EHF-TOKEN", blame=Blame.CONFIGURATION, sentence="The hub refused the token.",
    field="trt_llm.build.checkpoint_repository.runtime_secret_name",
)  # fmt: skip
_known = st.builds(
    Known,
    checkpoint=st.sampled_from([None, SMOLLM2_135M, LLAMA_8B, LLAMA_70B, QWEN2_7B, BERT]),
    checkpoint_failure=st.sampled_from([None, FAILED]),
    secret_names=st.sampled_from([None, frozenset(), frozenset({"hf_access_token"})]),
    devices=st.sampled_from([None, (), CPU_ONLY, EVERY_KIND]),
)


def _codes(examination: Examination) -> dict[str, Severity]:
    return {finding.code: finding.severity for finding in examination.report.findings}


@pytest.mark.wide
@examples(150)
@given(configs(), _known)
def test_no_config_and_no_facts_make_a_rule_raise(config: dict[str, Any], known: Known) -> None:
    examination = examine(config, known)
    json.dumps(examination.to_json())
    assert examination.spec is not None
    ranks = [finding.severity.rank for finding in examination.report.findings]
    assert ranks == sorted(ranks)


@examples(80)
@given(
    st.sampled_from([SMOLLM2_135M, LLAMA_8B, LLAMA_70B]),
    st.sampled_from(["L4", "H100", "B200", None]),
    st.integers(65, 100_000),
    st.integers(1, 100_000),
    st.integers(1, 1000),
    st.sampled_from(["fp4_kv", "fp4", "fp8_kv", "fp8", "no_quant"]),
)
def test_the_plan_is_monotone(
    checkpoint: Any, kind: str | None, tokens: int, length: int, batch: int, precision: str
) -> None:
    def capacity(**build: Any) -> Any:
        base = {"checkpoint_repository": {"source": "LOCAL", "repo": "/x"},
                "max_num_tokens": tokens, "max_seq_len": length, "max_batch_size": batch,
                "quantization_type": precision}  # fmt: skip
        top = {"resources": {"accelerator": kind}} if kind else {}
        spec = parse_mapping({"trt_llm": {"build": {**base, **build}}, **top}).spec
        assert spec is not None
        device = next(each for each in EVERY_KIND if each.kind == (kind or "CPU"))
        return plan(spec, checkpoint, device, RUNTIMES[spec.runtime_name].memory)

    base = capacity()
    assert capacity(max_num_tokens=min(tokens * 2, 131_072)).kv_tokens <= base.kv_tokens
    assert capacity(max_seq_len=length * 2).full_length_requests <= base.full_length_requests
    assert capacity(quantization_type="no_quant").kv_tokens <= base.kv_tokens
    assert capacity(max_batch_size=batch * 2).fixed_bytes >= base.fixed_bytes


@examples(30)
@given(configs(), _known)
def test_what_was_parsed_before_is_examined_as_its_text_is(
    config: dict[str, Any], known: Known
) -> None:
    text = json.dumps(config)
    parsed = parse_text(text)
    assert parsed.data == config
    assert examine(parsed, known).to_json() == examine(text, known).to_json()


def test_schema_errors_and_rules_share_one_form() -> None:
    examination = examine("trt_llm: {buidl: {}}", Known())
    finding = next(f for f in examination.report.findings if f.code == "EH002")
    assert examination.blocks_build
    assert examination.spec is None
    assert finding.fix is not None
    assert finding.fix.label == "Use `build`"
    assert set(finding.to_json()) == {
        "code", "name", "severity", "message", "fields", "line", "column", "fix",
        "no_fix", "source",
    }  # fmt: skip


def test_a_clean_config_with_all_facts_can_be_built() -> None:
    examination = examine(Example().content, Example().known)
    assert examination.report.findings == ()
    assert examination.report.waiting == ()
    assert not examination.blocks_build
    assert examination.plan is not None
    assert {value.field for value in examination.effective} == {
        "enginehouse.dtype", "trt_llm.build.max_batch_size", "trt_llm.build.max_num_tokens",
    }  # fmt: skip


def test_missing_facts_make_rules_wait_and_block() -> None:
    examination = examine(Example().content, Known())
    assert examination.blocks_build
    assert examination.report.findings == ()
    facts = {fact for waiting in examination.report.waiting for fact in waiting.facts}
    assert facts == {"checkpoint", "devices"}
    assert all(waiting.message.startswith("Waits for ") for waiting in examination.report.waiting)


def test_a_checkpoint_that_cannot_be_read_is_one_finding_and_nothing_waits_for_it() -> None:
    known = Known(checkpoint_failure=FAILED, secret_names=frozenset(), devices=EVERY_KIND)
    examination = examine(Example().content, known)
    assert _codes(examination) == {"EH801": Severity.ERROR}
    assert examination.report.waiting == ()
    assert examination.report.findings[0].fields == (FAILED.field,)


def test_findings_stand_at_the_line_of_their_field() -> None:
    text = (
        "resources:\n  accelerator: A100\n"
        "trt_llm:\n  build:\n    quantization_type: fp8\n"
        "    checkpoint_repository: {source: HF, repo: a/b}\n"
        "enginehouse: {runtime: vllm}\n"
    )
    here = frozenset({"native"})
    examination = examine(text, Known(checkpoint=LLAMA_8B, devices=EVERY_KIND, runtimes=here))
    lines = {finding.code: finding.line for finding in examination.report.findings}
    assert lines["EH201"] == 5
    assert lines["EH690"] == 2


def test_a_large_model_on_one_device_names_the_devices_that_hold_it() -> None:
    example = Example(config={"resources.accelerator": "H100"}, checkpoint=LLAMA_70B)
    examination = examine(example.content, example.known)
    finding = next(f for f in examination.report.findings if f.code == "EH501")
    assert "2 of `H100` would hold it" in finding.message
    assert finding.fix is not None
    assert finding.fix.patch["resources.accelerator"] == "H100:2"


@pytest.mark.parametrize(("heads", "ranks", "valid"), [(28, 8, "4 or 14"), (9, 2, "1 or 3")])
def test_heads_that_do_not_divide_name_the_next_counts_that_do(
    heads: int, ranks: int, valid: str
) -> None:
    kv_heads = {28: 2, 9: 3}[heads]
    checkpoint = LLAMA_8B.model_copy(update={"attention_heads": heads, "kv_heads": kv_heads})
    example = Example(
        config={
            "resources.accelerator": f"H100:{ranks}", "trt_llm.build.tensor_parallel_count": ranks
        },
        checkpoint=checkpoint,
    )  # fmt: skip
    finding = next(
        f for f in examine(example.content, example.known).report.findings if f.code == "EH304"
    )
    assert valid in finding.message


def test_every_kind_of_device_can_be_planned_for() -> None:
    for offer in every_kind(cpu_memory_bytes=2**34):
        config = {} if offer.kind == "CPU" else {"resources.accelerator": offer.kind}
        examination = examine(Example(config=config).content, Example().known)
        assert examination.plan is not None, offer.kind


def test_a_shape_that_cannot_be_planned_is_said_and_not_waited_for() -> None:
    unknown = LLAMA_8B.model_copy(update={"kv_heads": None})
    examination = examine(Example(checkpoint=unknown).content, Example(checkpoint=unknown).known)
    assert "EH505" in _codes(examination)
    assert examination.report.waiting == ()
    spec = parse_mapping(Example().content).spec
    assert spec is not None
    with pytest.raises(UnplannableError, match="KV heads"):
        plan(
            spec,
            unknown,
            DeviceOffer(kind="CPU", count=1, memory_bytes=2**34),
            RUNTIMES["native"].memory,
        )


def test_the_rule_reference_is_up_to_date() -> None:
    assert REFERENCE.read_text() == write_reference(), "run: manage.py write_rule_reference"


def test_a_model_taken_from_elsewhere_is_not_judged_by_an_empty_repository() -> None:
    empty = facts({}, architectures=None, model_type=None).model_copy(
        update={"files": ("config.json",), "has_weights": False}
    )
    arguments = {
        "model_path": "/models/real",
        "speculative_config": {"decoding_type": "MTP", "num_nextn_predict_layers": 1},
    }
    config = {
        "resources.accelerator": "B200", "trt_llm.inference_stack": "v2",
        "trt_llm.build.max_seq_len": None, "trt_llm.runtime": {"patch_kwargs": arguments},
    }  # fmt: skip
    example = Example(config=config, checkpoint=empty)
    severities = _codes(examine(example.content, example.known))
    assert not {code for code, severity in severities.items() if severity is Severity.ERROR}


@pytest.mark.parametrize(
    ("runtime", "label"),
    [("trtllm", "Use an engine that starts here"), ("native", "Use vLLM or the CPU")],
)
def test_the_fix_that_serves_on_the_cpu_leaves_nothing_of_a_gpu(runtime: str, label: str) -> None:
    text = (
        "resources:\n  accelerator: H100:2\n  use_gpu: true\n"
        "trt_llm:\n  build:\n    tensor_parallel_count: 2\n"
        "    checkpoint_repository: {source: LOCAL, repo: /x}\n"
        f"enginehouse:\n  runtime: {runtime}\n"
    )
    known = Known(
        checkpoint=SMOLLM2_135M, secret_names=frozenset(), devices=EVERY_KIND,
        runtimes=frozenset({"native"}),
    )  # fmt: skip
    finding = next(f for f in examine(text, known).report.findings if f.code in {"EH690", "EH691"})
    assert finding.fix is not None
    assert finding.fix.label == label
    mended = edit_yaml(text, finding.fix.patch)
    assert "use_gpu" not in mended
    codes = {outcome.code for outcome in examine(mended, known).report.findings}
    assert not codes & {"EH690", "EH691", "EH113", "EH651"}
