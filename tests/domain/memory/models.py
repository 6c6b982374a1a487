"""Checkpoints, GPUs and specs that the tests of the plan share."""

from typing import Any

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.memory import MemoryPlan, plan
from controlplane.domain.rules import DeviceOffer
from controlplane.domain.rules.examples import LLAMA_8B
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import Spec, parse_mapping
from tests.domain.cases import lines

__all__ = ["LLAMA_8B"]

QWEN3_32B_FP8 = checkpoints.read(
    {
        "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 5120,
        "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8,
        "head_dim": 128, "intermediate_size": 25_600, "vocab_size": 151_936,
        "tie_word_embeddings": False, "quantization_config": {"quant_method": "fp8"},
    }
)  # fmt: skip
QWEN3_8B = checkpoints.read(
    {
        "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096,
        "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 128, "intermediate_size": 12_288, "vocab_size": 151_936,
        "max_position_embeddings": 40_960, "tie_word_embeddings": False, "dtype": "bfloat16",
    }
)  # fmt: skip
_PUBLIC = {case["model"]: case["config"] for case in lines("parameter_counts.jsonl")}


def public(model: str) -> CheckpointFacts:
    """Return the facts of a public checkpoint."""
    return checkpoints.read(_PUBLIC[model])


def with_share(spec: Spec, share: float) -> Spec:
    """Return the spec with another share of free memory for the KV cache."""
    runtime = spec.trt_llm.runtime.model_copy(update={"kv_cache_free_gpu_mem_fraction": share})
    return spec.model_copy(update={"trt_llm": spec.trt_llm.model_copy(update={"runtime": runtime})})


def device(kind: str) -> DeviceOffer:
    """Return a full host of a kind."""
    return DeviceOffer(kind=kind, count=8, memory_bytes=GPUS[kind].memory_bytes or 0)


def spec_for(
    accelerator: str = "H100", runtime: dict[str, Any] | None = None, **build: Any
) -> Spec:
    """Return a v1 spec on GPUs."""
    repository = {"source": "LOCAL", "repo": "/checkpoints/example"}
    engine = {"build": {"checkpoint_repository": repository, **build}, "runtime": runtime or {}}
    parsed = parse_mapping({"trt_llm": engine, "resources": {"accelerator": accelerator}})
    assert parsed.spec is not None, parsed.errors
    return parsed.spec


def planned(
    checkpoint: CheckpointFacts,
    accelerator: str = "H100",
    runtime_name: str = "trtllm",
    **build: Any,
) -> MemoryPlan:
    """Return the plan of a v1 spec on GPUs of one kind."""
    kind, _, count = accelerator.partition(":")
    if count and "tensor_parallel_count" not in build and "pipeline_parallel_count" not in build:
        build["tensor_parallel_count"] = int(count)
    return plan(
        spec_for(accelerator, **build), checkpoint, device(kind), RUNTIMES[runtime_name].memory
    )
