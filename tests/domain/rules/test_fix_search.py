"""Fixes over spec × facts: each does what it says, and pressing them comes to an end."""

from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.rules import ALL_RULES, Known, Severity
from controlplane.domain.rules.examples import (
    BERT,
    CPU_ONLY,
    EVERY_KIND,
    LLAMA_8B,
    LLAMA_70B,
    QWEN2_7B,
    SMOLLM2_135M,
)
from controlplane.domain.rules.trials import with_tried_fixes
from tests.domain.cases import as_config_json, as_config_yaml, lines
from tests.domain.configs import configs
from tests.domain.rules.fix_search import broken_promises, pressed_to_the_end, shown, state_of
from tests.examples import examples

pytestmark = pytest.mark.wide
CONFIGS = lines("truss_configs.jsonl")
CHECKPOINTS = lines("hf_configs.jsonl")
GPUS = (None, "L4", "L4:8", "A10G:2", "T4:2", "V100", "A100:4", "H100_40GB", "H100", "H100:3",
        "H100:8", "H200:8", "B200:2")  # fmt: skip
RUNTIMES = ("auto", "native", "vllm", "trtllm")
_SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    "trt_llm.build.tensor_parallel_count": st.sampled_from([1, 2, 3, 8]),
    "trt_llm.build.pipeline_parallel_count": st.sampled_from([1, 2, 3]),
    "trt_llm.build.max_seq_len": st.sampled_from([512, 32_768, 131_072, 1_048_576]),
    "trt_llm.build.max_num_tokens": st.sampled_from([128, 8192, 131_072]),
    "trt_llm.build.max_batch_size": st.sampled_from([1, 256, 2048]),
    "trt_llm.build.quantization_type": st.sampled_from(["no_quant", "fp8", "fp8_kv", "fp4_kv"]),
    "trt_llm.build.base_model": st.sampled_from(["decoder", "encoder", "encoder_bert"]),
    "trt_llm.runtime.enable_chunked_context": st.booleans(),
    "trt_llm.runtime.tensor_parallel_size": st.sampled_from([1, 2, 8, 16]),
    "trt_llm.runtime.enable_chunked_prefill": st.booleans(),
    "trt_llm.inference_stack": st.sampled_from(["v1", "v2"]),
}


def _facts(case: dict[str, Any]) -> CheckpointFacts:
    return checkpoints.read(as_config_json(case["facts"]), has_chat_template=True)


@st.composite
def of_cases(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a public config with some of its settings changed."""
    config = as_config_yaml(draw(st.sampled_from(CONFIGS))["facts"])
    config["resources"]["accelerator"] = draw(st.sampled_from(GPUS))
    config["enginehouse"] = {"runtime": draw(st.sampled_from(RUNTIMES))}
    for path in draw(st.lists(st.sampled_from(sorted(_SETTINGS)), max_size=4, unique=True)):
        _, *block, name = path.split(".")
        place = config["trt_llm"].setdefault(block[0], {}) if block else config["trt_llm"]
        place[name] = draw(_SETTINGS[path])
    return config


any_known = st.builds(
    Known,
    checkpoint=st.one_of(
        st.sampled_from([SMOLLM2_135M, LLAMA_8B, LLAMA_70B, QWEN2_7B, BERT]),
        st.sampled_from(CHECKPOINTS).map(_facts),
    ),
    secret_names=st.sampled_from([frozenset(), frozenset({"hf_access_token"})]),
    devices=st.sampled_from([EVERY_KIND, CPU_ONLY, EVERY_KIND[:6]]),
    runtimes=st.sampled_from([None, frozenset({"native"}), frozenset({"native", "vllm"})]),
)
_PARTS = 25
any_config = st.one_of(of_cases(), configs())


def _check(config: dict[str, Any], known: Known, number: int) -> None:
    state = state_of(config, known)
    assert not broken_promises(state)
    _, error = pressed_to_the_end(state, lambda fixable: fixable[0])
    assert error is None or error.no_fix
    if number % 3 == 0:
        pressed_to_the_end(state, lambda fixable: fixable[number % len(fixable)])


@examples(80)
@given(any_config, any_known, st.integers(0, 100))
def test_every_shown_fix_keeps_its_promise_and_pressing_comes_to_an_end(
    config: dict[str, Any], known: Known, number: int
) -> None:
    _check(config, known, number)


@pytest.mark.long
@pytest.mark.parametrize("part", range(_PARTS))
def test_ten_thousand_configs_find_no_fix_that_breaks_its_promise(part: int) -> None:
    search = given(any_config, any_known, st.integers(0, 100))(_check)
    seed(part)(settings(max_examples=10_000 // _PARTS, deadline=None)(search))()


@pytest.mark.parametrize("rule", [r for r in ALL_RULES if r.fix], ids=lambda rule: rule.anchor)
def test_a_rule_of_an_error_or_warning_is_mended_or_says_why_not(rule: Any) -> None:
    finding = next(
        each for each in shown(state_of(rule.bad.content, rule.bad.known)) if each.code == rule.code
    )
    assert finding.fix or finding.no_fix or rule.severity is Severity.HINT


@pytest.mark.long
@pytest.mark.parametrize("accelerator", GPUS, ids=str)
@pytest.mark.parametrize("case", CONFIGS, ids=lambda case: case["id"])
def test_a_public_config_is_mended_on_every_gpu(
    case: dict[str, Any], accelerator: str | None
) -> None:
    """Each config with one checkpoint of the cases for each GPU."""
    config = as_config_yaml(case["facts"])
    config["resources"]["accelerator"] = accelerator
    number = CONFIGS.index(case) * len(GPUS) + GPUS.index(accelerator)
    known = Known(
        checkpoint=_facts(CHECKPOINTS[number % len(CHECKPOINTS)]),
        secret_names=frozenset(), devices=EVERY_KIND,
    )  # fmt: skip
    config["enginehouse"] = {"runtime": RUNTIMES[number % len(RUNTIMES)]}
    _check(config, known, number)


@pytest.mark.long
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("case", CHECKPOINTS, ids=lambda case: case["id"])
def test_a_public_checkpoint_is_mended_in_configs_of_every_kind(
    case: dict[str, Any], runtime: str
) -> None:
    known = Known(checkpoint=_facts(case), secret_names=frozenset(), devices=EVERY_KIND)
    for number, accelerator in enumerate(GPUS):
        config = as_config_yaml(CONFIGS[(number * 7 + len(runtime)) % len(CONFIGS)]["facts"])
        config["resources"]["accelerator"] = accelerator
        config["enginehouse"] = {"runtime": runtime}
        _check(config, known, number)


def test_what_was_offered_untried_is_tried_when_its_turn_comes() -> None:
    config = {
        "trt_llm": {
            "build": {
                "checkpoint_repository": {
                    "source": "HF", "repo": "a/b", "runtime_secret_name": "team_token",
                }
            }
        }
    }  # fmt: skip
    state = state_of(config, Known(secret_names=frozenset(), devices=EVERY_KIND))
    untried = next(
        each for each in with_tried_fixes(state, most=0).findings if each.code == "EH803"
    )
    tried = next(each for each in shown(state) if each.code == "EH803")
    assert untried.fix
    assert tried.fix is None
    assert tried.no_fix == (
        "“List the secret” alone would bring EH804: Listed under `secrets`, and not stored: "
        "`team_token`. Store a value under Secrets first."
    )


def test_a_fix_that_brings_an_error_is_offered_with_the_fix_of_that_error() -> None:
    """As an encoder alone it would keep FP8, which encoders of the BERT family have not."""
    config = {
        "resources": {"accelerator": "H100"},
        "trt_llm": {
            "build": {
                "checkpoint_repository": {"source": "LOCAL", "repo": "/x"},
                "quantization_type": "fp8",
            }
        },
    }
    known = Known(checkpoint=BERT, secret_names=frozenset(), devices=EVERY_KIND)
    finding = next(each for each in shown(state_of(config, known)) if each.code == "EH607")
    assert finding.fix
    assert finding.fix.label == "Serve it as an encoder and use no_quant"
    assert finding.fix.patch == {
        "trt_llm.build.base_model": "encoder_bert", "trt_llm.build.quantization_type": "no_quant",
    }  # fmt: skip


def _fix_of(code: str, config: dict[str, Any], known: Known) -> Any:
    return next(each for each in shown(state_of(config, known)) if each.code == code).fix


def _config(accelerator: str | None, **engine: Any) -> dict[str, Any]:
    engine = {"build": {}, **engine}
    engine["build"] = {
        "checkpoint_repository": {"source": "LOCAL", "repo": "/x"},
        **engine["build"],
    }
    top = {"resources": {"accelerator": accelerator}} if accelerator else {}
    return {**top, "trt_llm": engine}


def _knowing(checkpoint: CheckpointFacts) -> Known:
    return Known(checkpoint=checkpoint, secret_names=frozenset(), devices=EVERY_KIND)


def test_a_model_that_no_number_of_these_gpus_holds_is_offered_others() -> None:
    build = {"max_seq_len": 4096, "tensor_parallel_count": 1}
    fix = _fix_of("EH501", _config("T4", build=build), _knowing(LLAMA_70B))
    assert not fix.patch["resources.accelerator"].startswith("T4")


def test_tensor_and_pipeline_parallel_beyond_a_host_become_what_a_host_has() -> None:
    build = {"tensor_parallel_count": 8, "pipeline_parallel_count": 3, "max_seq_len": 4096}
    fix = _fix_of("EH301", _config("L4:8", build=build), _knowing(LLAMA_8B))
    assert fix.label == "Use 8 GPUs and tensor parallel 8"
    assert fix.patch["trt_llm.build.pipeline_parallel_count"] is None


def test_idle_gpus_are_given_back_where_the_heads_do_not_divide_over_them() -> None:
    runtime = {"tensor_parallel_size": 2, "max_seq_len": 4096}
    config = _config("H100:3", inference_stack="v2", runtime=runtime)
    fix = _fix_of("EH303", config, _knowing(LLAMA_8B))
    assert fix.patch == {"resources.accelerator": "H100:2"}


@pytest.mark.parametrize("stack", ["v1", "v2"])
def test_ranks_without_an_accelerator_are_not_said_to_be_on_so_many_cpus(stack: str) -> None:
    engine: dict[str, Any] = {"build": {"tensor_parallel_count": 8}}
    if stack == "v2":
        engine = {"inference_stack": "v2", "runtime": {"tensor_parallel_size": 8}}
    findings = shown(state_of(_config(None, **engine), _knowing(LLAMA_8B)))
    entry = next(each.message for each in findings if each.code in ("EH301", "EH302"))
    assert "no accelerator" in entry
    assert "CPU" not in entry


def test_a_step_is_never_raised_beyond_what_the_stack_takes() -> None:
    runtime = {"max_seq_len": 262_144, "enable_chunked_prefill": False}
    config = _config("H200:8", inference_stack="v2", runtime=runtime | {"tensor_parallel_size": 8})
    config["enginehouse"] = {"runtime": "trtllm"}
    long = LLAMA_8B.model_copy(update={"max_positions": 262_144})
    fix = _fix_of("EH602", config, _knowing(long))
    assert fix.label == "Turn chunked prefill on"


def test_an_encoder_under_v2_becomes_one_under_v1() -> None:
    runtime = {"tensor_parallel_size": 1, "max_seq_len": 512}
    config = _config("L4", inference_stack="v2", runtime=runtime)
    fix = _fix_of("EH607", config, _knowing(BERT))
    assert fix.patch["trt_llm.inference_stack"] is None
    assert fix.patch["trt_llm.build.base_model"] == "encoder_bert"
