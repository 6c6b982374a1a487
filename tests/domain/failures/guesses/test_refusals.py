"""What an engine's authors wrote for its user is told by what it is about, not as a guess.

Source of the messages: the source of vLLM 0.33.0, ModelOpt 0.47 and transformers 5.24.
"""

import pytest

from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.guesses import guessed
from controlplane.domain.failures.guesses.last_exception import LastException
from controlplane.domain.failures.guesses.refusals import family_of

SAID = (
    ("RuntimeError", "Failed to import x because of an error: /a.so: undefined symbol: _ZN3c10",
     "ENR-LIBRARY"),
    ("AssertionError", "negative values after abs, could be torch or cuda bug", "ENR-RELEASE"),
    ("AttributeError", "type object 'TokenizerInfo' has no attribute 'from_x'", "ENR-RELEASE"),
    ("TypeError", "A.__init__() got multiple values for argument 'tokenizer'", "ENR-RELEASE"),
    ("AttributeError", "'Qwen2ForCausalLM' object has no attribute 'pooler'", "ENR-POOLING"),
    ("AssertionError", "assert self.total_num_kv_heads % tp_size == 0", "ENR-RANKS"),
    ("AssertionError", "25 is not divisible by 4", "ENR-RANKS"),
    ("ImportError", "Arctic Inference is required for suffix decoding. Install via `pip install "
     "arctic-inference==0.1.1`.", "ENR-PACKAGE"),
    ("ValueError", "nvfp4_per_token online quantization requires a Blackwell (SM100) GPU.",
     "ENR-GPU"),
    ("ValueError", "The embedding LoRA size(300) must be consistent with the base model's "
     "vocabulary size(200).", "ENR-ADAPTER"),
    ("ValueError", "No free adapter slots, a failed request", "ENR-ADAPTER"),
    ("NotImplementedError", "Unsupported speculative method: 'magic'", "ENR-DRAFTS"),
    ("ValueError", "Attention sink heads (40) must be divisible by tp_size (3)", "ENR-RANKS"),
    ("ValueError", "total_num_heads 40 is not divisible by tp_size 3.", "ENR-RANKS"),
    ("ValueError", "MXFP8 requires input size divisible by 32, got 1000", "ENR-QUANTIZATION"),
    ("NotImplementedError", "AutoAWQMoEMethod only supports 4bit now: awq", "ENR-QUANTIZATION"),
    ("ValueError", "Invalid kv_cache_dtype: fp6. Valid values are: auto", "ENR-ATTENTION"),
    ("ValueError", "Failed to detect the reasoning parser, it must be named", "ENR-TOOLS"),
    ("ValueError", "Unsupported Sentence Transformers chat template settings: tokenize",
     "ENR-TEMPLATE"),
    ("ValueError", "Video pruning method 'x' is not supported by the model", "ENR-MEDIA"),
    ("ValueError", "Cannot auto-fit: not enough GPU memory available to serve even a single token",
     "ENR-MEMORY"),
    ("ValueError", "long_prefill_token_threshold (9) cannot be greater than the max_model_len (4).",
     "ENR-LENGTH"),
    ("ValueError", "cudagraph_capture_sizes and compilation_config are mutually exclusive",
     "ENR-ARGUMENT"),
    ("ValueError", "pool_type weighted not supported by pooling", "ENR-POOLING"),
    ("RuntimeError", "Ray is not initialized although distributed-executor-backend is ray.",
     "ENR-PROCESSES"),
    ("ValueError", "Following weights were not initialized from checkpoint: {'a.b'}",
     "ENR-WEIGHTS"),
    ("ValueError", "Unsupported position encoding type for layer 3: weird", "ENR-CLASS"),
)  # fmt: skip


def refused(kind: str, message: str, path: str = "/srv/vllm/config/model.py") -> str | None:
    family = family_of(LastException(kind=kind, message=message, paths=(path,)))
    return family.code if family else None


@pytest.mark.parametrize(("kind", "message", "code"), SAID)
def test_a_refusal_is_told_by_what_it_is_about(kind: str, message: str, code: str) -> None:
    assert refused(kind, message) == code


def test_a_slip_of_the_code_is_no_refusal() -> None:
    text = "max_num_seqs must be greater than zero"
    assert refused("ValueError", text) == "ENR-LENGTH"
    assert refused("KeyError", text) is None
    assert refused("AttributeError", "'FooConfig' object has no attribute 'bar'") is None
    assert refused("ValueError", text, path="/home/somebody/own.py") is None
    assert refused("ValueError", "42 is no colour") is None


def test_its_words_its_setting_and_its_values_are_told() -> None:
    log = (
        'Traceback (most recent call last):\n  File "/srv/vllm/config/scheduler.py", line 3\n'
        "ValueError: long_prefill_token_threshold (9000) cannot be greater than the max_model_len "
        "(4096).\n"
    )
    spec = {"trt_llm": {"inference_stack": "v2", "runtime": {"max_seq_len": 4096}}}
    seen = CrashEvidence(subject="The engine", exit_code=1, log_tail=log, spec=spec)
    failure = guessed(seen)
    assert failure is not None
    assert failure.field == "trt_llm.runtime.max_seq_len"
    assert failure.sentence.startswith("The engine refuses a length")
    assert "(9000) cannot be greater" in failure.sentence
    assert "guess" not in failure.sentence


def test_an_assertion_without_words_is_told_by_the_line_that_was_asserted() -> None:
    log = (
        'Traceback (most recent call last):\n  File "/srv/vllm/models/chatglm.py", line 53\n'
        "    assert self.total_num_kv_heads % tp_size == 0\nAssertionError\n"
    )
    failure = guessed(CrashEvidence(subject="It", exit_code=1, log_tail=log))
    assert failure is not None
    assert (failure.code, failure.field) == ("ENR-RANKS", "trt_llm.build.tensor_parallel_count")


def test_what_a_part_in_another_language_asserts_is_read_too() -> None:
    log = (
        "[TensorRT-LLM][ERROR] Assertion failed: Unsupported architecture "
        "(/tensorrt_llm/kernels/fmhaRunner.cpp:89)\n"
    )
    failure = guessed(CrashEvidence(subject="It", exit_code=1, log_tail=log))
    assert failure is not None
    assert (failure.code, failure.field) == ("ENR-GPU", "resources.accelerator")


def test_an_argument_of_the_config_that_is_about_the_same_is_the_one_to_change() -> None:
    log = (
        'Traceback (most recent call last):\n  File "/x/tensorrt_llm/_torch/attention.py", line 5\n'
        "AssertionError: Attention sinks are only supported for that backend.\n"
    )
    spec = {"trt_llm": {"runtime": {"patch_kwargs": {"attn_backend": "FLASHINFER", "revision": 1}}}}
    failure = guessed(CrashEvidence(subject="It", exit_code=1, log_tail=log, spec=spec))
    assert failure is not None
    assert failure.field == "trt_llm.runtime.patch_kwargs.attn_backend"
