"""Random valid configs of both stacks, for property tests."""

from typing import Any

from hypothesis import strategies as st

from controlplane.domain.facts.gpus import ACCELERATOR_KINDS
from controlplane.domain.spec.choices import QuantizationType

_names = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,8}(-[a-z0-9]{1,3})?", fullmatch=True)
_words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
_repositories = st.fixed_dictionaries(
    {
        "source": st.sampled_from(["HF", "LOCAL", "S3", "REMOTE_URL", "BASETEN_TRAINING"]),
        "repo": _names,
    },
    optional={"revision": _names, "runtime_secret_name": _names},
)
_lookahead = st.fixed_dictionaries(
    {},
    optional={
        "speculative_decoding_mode": st.sampled_from(
            ["LOOKAHEAD_DECODING", "DRAFT_TOKENS_EXTERNAL"]
        ),
        "lookahead_windows_size": st.integers(1, 20),
        "lookahead_ngram_size": st.integers(1, 40),
        "lookahead_verification_set_size": st.integers(1, 20),
        "num_draft_tokens": st.integers(1, 100),
    },
)
_limits: dict[str, st.SearchStrategy[Any]] = {
    "max_seq_len": st.integers(1, 1_048_576),
    "max_batch_size": st.integers(1, 2048),
    "max_num_tokens": st.integers(65, 131_072),
}
_build_v1 = st.fixed_dictionaries(
    {"checkpoint_repository": _repositories},
    optional={
        **_limits,
        "base_model": st.sampled_from(["decoder", "encoder", "encoder_bert", "llama", "whisper"]),
        "quantization_type": st.sampled_from([kind.value for kind in QuantizationType]),
        "tensor_parallel_count": st.integers(1, 16),
        "pipeline_parallel_count": st.integers(1, 4),
        "speculator": _lookahead,
        "lora_adapters": st.dictionaries(_names, _repositories, max_size=2),
        "lora_configuration": st.fixed_dictionaries(
            {}, optional={"max_lora_rank": st.integers(-1, 512)}
        ),
        "plugin_configuration": st.fixed_dictionaries(
            {}, optional={"paged_kv_cache": st.booleans(), "use_fp8_context_fmha": st.booleans()}
        ),
    },
)
_runtime_v1 = st.fixed_dictionaries(
    {},
    optional={
        "kv_cache_free_gpu_mem_fraction": st.floats(-1, 5),
        "served_model_name": _words,
        "request_default_max_tokens": st.integers(1, 10_000),
        "enable_chunked_context": st.booleans(),
    },
)
_engine_v1 = st.fixed_dictionaries({"build": _build_v1}, optional={"runtime": _runtime_v1})
_engine_v2 = st.fixed_dictionaries(
    {
        "inference_stack": st.just("v2"),
        "build": st.fixed_dictionaries(
            {"checkpoint_repository": _repositories},
            optional={
                "quantization_type": st.sampled_from([kind.value for kind in QuantizationType])
            },
        ),
        "runtime": st.fixed_dictionaries(
            {}, optional={**_limits, "tensor_parallel_size": st.integers(1, 16)}
        ),
    }
)
_accelerators = st.builds(
    lambda kind, count: f"{kind}:{count}", st.sampled_from(ACCELERATOR_KINDS), st.integers(1, 16)
)


def configs() -> st.SearchStrategy[dict[str, Any]]:
    """Draw configs that parse, sensible or not."""
    return st.fixed_dictionaries(
        {"trt_llm": st.one_of(_engine_v1, _engine_v2)},
        optional={
            "model_name": _words,
            "resources": st.fixed_dictionaries({}, optional={"accelerator": _accelerators}),
            "secrets": st.dictionaries(_names, st.none(), max_size=2),
            "model_metadata": st.fixed_dictionaries({}, optional={"tags": st.lists(_words)}),
            "enginehouse": st.fixed_dictionaries(
                {}, optional={"runtime": st.sampled_from(["auto", "native", "vllm", "trtllm"])}
            ),
        },
    )
