"""The lines that people reported, and those that TensorRT-LLM is known to end with, by their cause.

Sources: the public reports in the tests' data by their id, and TensorRT-LLM's own code and issues.
"""

from pathlib import Path

import pytest

from controlplane.domain.runtimes import RUNTIMES

KEPT_LOGS = Path(__file__).resolve().parents[3] / "benchmarks" / "results" / "raw"
_WITH_A_FAILURE = ("out_of_memory", "vllm-alone", "formats")
"""The last: engines that answered and were then ended, both processes of each at once."""
HEADS = "ValueError: Total number of attention heads ({}) must be divisible by tensor parallel size"
COMPONENT = (
    "Executor creation failed due to insufficient GPU memory.\n\nThe following component could not "
    "be created: {}\nTotal GPU memory (GiB): 79.10"
)
REPORTED = (
    ("bug-007", "trtllm", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
     "ETR-LOADING-OUT-OF-MEMORY"),
    ("bug-049", "vllm", f"{HEADS.format(40)} (3).", "EVL-HEADS"),
    ("bug-049", "vllm", "ValueError: World size (3) is larger than the number of available GPUs "
     "(2) in this node.", "EVL-CARDS-MISSING"),
    ("bug-052", "vllm", f"{HEADS.format(28)} (8).", "EVL-HEADS"),
    ("bug-055", "vllm", f"{HEADS.format(64)} (3).", "EVL-HEADS"),
    ("bug-064", "vllm", "ValueError: FP8 quantized models is only supported on GPUs with compute "
     "capability >= 9.0 (e.g H100), actual = `8.0`", "EVL-FP8-ON-CARD"),
    ("bug-067", "vllm", "ValueError: FP8 KV cache is not supported by the Triton attention backend "
     "on NVIDIA A100 (compute capability 8.0); native FP8 (fp8e4nv) requires SM89+. Re-run with "
     "--kv-cache-dtype bfloat16.", "EVL-FP8-CACHE-ON-CARD"),
    ("bug-070", "vllm", "ValueError: type fp8e4nv not supported in this architecture",
     "EVL-FP8-KERNEL"),
    ("bug-073", "vllm", "ValueError: LoRA rank 64 is greater than max_lora_rank 16.",
     "EVL-LORA-RANK"),
    ("bug-079", "vllm", "ValueError: The model's max seq len (4096) is larger than the maximum "
     "number of tokens that can be stored in KV cache (3664).", "EVL-KV-CACHE-TOKENS"),
    ("bug-133", "vllm", "ValueError: Model architectures ['MxbaiRerankForCausalLM'] are not "
     "supported for now.", "EVL-ARCHITECTURE"),
    ("vllm#16231", "vllm", "NotImplementedError: Pipeline parallelism is not supported for this "
     "model. Supported models implement the `SupportsPP` interface.", "EVL-DRAFTS-IN-STAGES"),
    ("vllm#45784", "vllm", "ValueError: Weight input_size_per_partition = 192 is not divisible by "
     "weight quantization block_k = 128.", "EVL-BLOCK-SIZE"),
    ("llm-compressor#57", "vllm", "ValueError: Weight input_size_per_partition = 7392 is not "
     "divisible by min_thread_k = 128.", "EVL-MARLIN-SIZE"),
    ("vllm#21960", "vllm", "/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found", "EVL-NVCC"),
    ("flashinfer#1781", "vllm", "FileNotFoundError: [Errno 2] No such file or directory: 'nvcc'",
     "EVL-NVCC"),
    ("LightLLM#176", "vllm", "ptxas fatal : Value 'sm_89' is not defined for option 'gpu-name'",
     "EVL-PTXAS"),
    ("bug-136", "vllm", "ValueError: Quantization method specified in the model config (gptq) does "
     "not match the quantization method specified in the `quantization` argument (auto-round).",
     "EVL-METHOD-DIFFERS"),
)  # fmt: skip
OF_TENSORRT_LLM = (
    (COMPONENT.format("Model"), "ETR-MEMORY-MODEL"),
    (COMPONENT.format("KV cache"), "ETR-MEMORY-KV-CACHE"),
    (COMPONENT.format("Initial KV cache (temporary for KV cache size estimation)"),
     "ETR-MEMORY-STEP"),
    (COMPONENT.format("Model resources created during usage"), "ETR-MEMORY-STEP"),
    (COMPONENT.format("Sampler"), "ETR-MEMORY-SAMPLER"),
    (COMPONENT.format("Drafter"), "ETR-MEMORY-SAMPLER"),
    (COMPONENT.format("Guided Decoder"), "ETR-MEMORY-SAMPLER"),
    (COMPONENT.format("Draft model for speculative decoding"), "ETR-MEMORY-DRAFT-MODEL"),
    (COMPONENT.format("Additional executor resources"), "ETR-MEMORY-REST"),
    ("Executor creation failed with NCCL error:", "ETR-NCCL"),
    ("RuntimeError: No GPU devices found on the node", "ETR-NO-CARD"),
    ("RuntimeError: Failed to bind socket to 0.0.0.0:8000", "ETR-PORT"),
    ("ValueError: Unknown architecture for AutoModelForCausalLM: Gemma2ForCausalLM",
     "ETR-ARCHITECTURE"),
    ("NotImplementedError: The given huggingface model architecture WhisperModel is not supported "
     "in TRT-LLM yet", "ETR-ARCHITECTURE"),
    ("RuntimeError: Unsupported model architecture: Qwen3ForCausalLM", "ETR-ARCHITECTURE"),
    ("ValueError: Failed to infer model format because no config.json exists in /m",
     "ETR-NO-CONFIG"),
    ("kv_cache_confg\n  Extra inputs are not permitted [type=extra_forbidden]",
     "ETR-UNKNOWN-ARGUMENT"),
    ("ValueError: Speculation type Lookahead does not support backend pytorch",
     "ETR-DRAFTS-ON-BACKEND"),
    ("ValueError: max_draft_len must be > 0 for Eagle", "ETR-DRAFT-LENGTH"),
    ("ValueError: Draft model must be provided for EAGLE", "ETR-DRAFT-MODEL"),
    ("ValueError: draft_len_schedule must include batch_size=1", "ETR-DRAFT-SCHEDULE"),
    ("NotImplementedError: Drafting is not supported for selected executor loop. Please disable",
     "ETR-DRAFTS-IN-STAGES"),
    ("AssertionError: num_attention_heads must be divisible by tp_size", "ETR-HEADS"),
    ("ValueError: The sum of prompt length (9351.0), query length (0) should not exceed "
     "max_num_tokens (8192)", "ETR-PROMPT-TOO-LONG"),
    ("ValueError: The prompt length (72417.0) should not exceed max_num_tokens (69632)",
     "ETR-PROMPT-TOO-LONG"),
    ("ValueError: The sum of prompt length (4000) and query length (0) max_tokens (2048) should "
     "not exceed max_seq_len (4096)", "ETR-PROMPT-BEYOND-LENGTH"),
    ("Request is specified with GuidedDecodingParams, but GuidedDecoder is not setup",
     "ETR-GUIDED-BACKEND"),
    ("ValueError: Guided decoding is not supported for speculative decoding mode: DRAFT_TARGET",
     "ETR-GUIDED-DRAFTS"),
    ("RuntimeError: The kvcache config in 'quant_cfg.json', FP8, is different",
     "ETR-KV-ALGORITHMS"),
    ("RuntimeError: Pre SM 80 GPUs do not support bfloat16", "ETR-BFLOAT16"),
    ("torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device",
     "ETR-KERNEL-IMAGE"),
    ("tensorrt_llm.executor.utils.CppExecutorError: engine stopped", "ETR-CRASHED"),
    ("ValueError: The repository contains custom code. Please pass the argument "
     "`trust_remote_code=True`", "ENG-REMOTE-CODE"),
    ("process exited with code 137", "ENG-KILLED"),
    ("OSError: [Errno 98] Address already in use", "ENG-PORT-TAKEN"),
)  # fmt: skip


@pytest.mark.parametrize(("report", "runtime", "line", "code"), REPORTED)
def test_what_a_report_describes_is_explained_by_its_cause(
    report: str, runtime: str, line: str, code: str
) -> None:
    failure = RUNTIMES[runtime].failures.explain(f"INFO starting\n{line}\n", {})
    assert failure is not None, report
    assert failure.code == code


@pytest.mark.parametrize(("line", "code"), OF_TENSORRT_LLM)
def test_what_tensorrt_llm_ends_with_is_explained_by_its_cause(line: str, code: str) -> None:
    failure = RUNTIMES["trtllm"].failures.explain(f"INFO starting\n{line}\n", {})
    assert failure is not None
    assert failure.code == code
    assert failure.hint


@pytest.mark.parametrize(
    "log",
    [log for log in sorted(KEPT_LOGS.glob("*.log")) if not log.name.startswith(_WITH_A_FAILURE)],
    ids=lambda log: log.stem,
)
def test_what_an_engine_says_at_a_good_start_is_no_failure(log: Path) -> None:
    text = log.read_text()
    for name in ("vllm", "native"):
        failure = RUNTIMES[name].failures.explain(text, {})
        assert failure is None, failure


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("Value error, Model architectures ['LlavaForConditionalGeneration'] failed to be "
         "inspected.", "EVL-ARCHITECTURE-NOT-IMPORTED"),
        ("OSError: [Errno 24] Too many open files: '/dev/shm/x'", "ENG-TOO-MANY-FILES"),
    ],
)  # fmt: skip
def test_descriptors_that_ran_out_are_told_from_the_warning_that_they_may(
    line: str, code: str
) -> None:
    warning = "This can cause fd limit errors like `OSError: [Errno 24] Too many open files`."
    failure = RUNTIMES["vllm"].failures.explain(f"{warning}\n{line}\n", {})
    assert failure is not None
    assert failure.code == code
