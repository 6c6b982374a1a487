"""A log whose words nobody knows still says whose fault it probably was, as a guess."""

import pytest

from controlplane.domain.failures import Blame
from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.guesses import guessed
from controlplane.domain.runtimes import RUNTIMES

SPEC = {
    "trt_llm": {
        "inference_stack": "v1",
        "build": {
            "base_model": "decoder",
            "max_seq_len": 40_960,
            "max_num_tokens": 8192,
            "checkpoint_repository": {"repo": "org/model", "runtime_secret_name": "org_token"},
            "quantization_type": "fp8_kv",
            "quantization_config": {"calib_size": 1024},
        },
    },
    "enginehouse": {"vllm_args": {"block-size": 48}},
    "environment_variables": {"SOME": "sesame-1234"},
}
_SITE = "/usr/lib/python3.12/site-packages"


def log(module: str, said: str) -> str:
    return (
        'Traceback (most recent call last):\n  File "/usr/bin/serve", line 8, in <module>\n'
        f'  File "{_SITE}/{module}", line 12, in load\n    raise what\n'
        f'  File "{_SITE}/pydantic/main.py", line 9, in check\n{said}\n'
    )


def guess(text: str, **spec: object):
    seen = CrashEvidence(subject="It", exit_code=1, log_tail=text, spec={**SPEC, **spec})
    return guessed(seen)


@pytest.mark.parametrize(
    ("module", "blame", "field"),
    [
        ("vllm/config/cache.py", Blame.CONFIGURATION, None),
        ("vllm/lora/worker_manager.py", Blame.CHECKPOINT, "trt_llm.build.lora_adapters"),
        ("vllm/model_executor/layers/quantization/fp8.py", Blame.CONFIGURATION,
         "trt_llm.build.quantization_type"),
        ("vllm/model_executor/models/new.py", Blame.CHECKPOINT,
         "trt_llm.build.checkpoint_repository.repo"),
        ("vllm/v1/executor/ray_executor.py", Blame.MACHINE, "trt_llm.build.tensor_parallel_count"),
        ("tensorrt_llm/_torch/models/modeling_new.py", Blame.CHECKPOINT,
         "trt_llm.build.checkpoint_repository.repo"),
        ("modelopt/torch/quantization/conversion.py", Blame.CONFIGURATION,
         "trt_llm.build.quantization_type"),
        ("tokenizers/implementations/base.py", Blame.CHECKPOINT,
         "trt_llm.build.checkpoint_repository.repo"),
        ("torch/_inductor/codecache.py", Blame.MACHINE, "resources.accelerator"),
    ],
)  # fmt: skip
def test_the_innermost_file_that_is_known_says_whose_fault_it_probably_was(
    module: str, blame: Blame, field: str | None
) -> None:
    failure = guess(log(module, "KeyError: nobody foresaw this"))
    assert failure is not None
    assert (failure.blame, failure.field) == (blame, field)
    assert "“KeyError: nobody foresaw this”" in failure.sentence
    assert "guess" in failure.sentence


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("max_num_seqs is odd", "trt_llm.build.max_batch_size"),
        ("--max-model-len must be even", "trt_llm.build.max_seq_len"),
        ("tensor parallel size 3 is odd", "trt_llm.build.tensor_parallel_count"),
        ("got block_size=48 here", "enginehouse.vllm_args.block-size"),
        ("a prompt of 40,960 is odd", "trt_llm.build.max_seq_len"),
        ("8192 tokens are odd", "trt_llm.build.max_num_tokens"),
        ("fp8_kv is odd", "trt_llm.build.quantization_type"),
    ],
)
def test_a_setting_that_the_words_name_is_the_one_to_look_at(said: str, field: str) -> None:
    failure = guess(log("vllm/model_executor/models/new.py", f"ValueError: {said}"))
    assert failure is not None
    assert (failure.blame, failure.field) == (Blame.CONFIGURATION, field)
    assert f"`{field}`" in failure.sentence


@pytest.mark.parametrize(
    "said",
    ["the decoder is odd", "1024 is a number of no setting", "org/model-of-another is odd",
     "18192 and 0.8192 are odd", "sesame-1234 and org_token"],
)  # fmt: skip
def test_words_that_stand_in_any_sentence_name_no_setting(said: str) -> None:
    failure = guess(log("vllm/config/cache.py", f"ValueError: {said}"))
    assert failure is not None
    assert failure.field is None
    assert "Its words name" not in failure.sentence


def test_a_setting_of_the_second_stack_is_named_by_its_own_path() -> None:
    stack = {"trt_llm": {"inference_stack": "v2", "runtime": {"max_seq_len": 40_960}}}
    failure = guess(log("x/y.py", "ValueError: max_model_len is odd"), **stack)
    assert failure is not None
    assert failure.field == "trt_llm.runtime.max_seq_len"


def test_a_tensor_that_the_words_name_is_told() -> None:
    text = "KeyError: no place for model.layers.3.mlp.up_proj.weight_scale"
    failure = guess(log("vllm/models/new.py", text))
    assert failure is not None
    assert "`model.layers.3.mlp.up_proj.weight_scale`" in failure.sentence


def test_an_echo_is_not_what_ended_it_and_the_error_before_it_is() -> None:
    text = log("vllm/v1/worker/worker.py", "FooError: the cause") + log(
        "vllm/v1/engine/utils.py", "RuntimeError: Engine core initialization failed. See above"
    )
    for failure in (guess(text), RUNTIMES["vllm"].failures.explain(text, SPEC)):
        assert failure is not None
        assert "“FooError: the cause”" in failure.sentence


def test_nothing_is_guessed_where_no_exception_or_nothing_known_stands() -> None:
    assert guess("loading 100%\nready\n") is None
    assert guess(log("strange/file.py", "FooError: nothing of ours")) is None


def test_a_message_is_short_and_holds_nothing_that_looks_like_a_secret() -> None:
    token = "hf_" + "a" * 34
    failure = guess(log("vllm/config/model.py", f"ValueError: {token} {'long ' * 500}"))
    assert failure is not None
    assert token not in str(failure.to_json())
    assert len(failure.sentence) < 700
