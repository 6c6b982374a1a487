from dataclasses import dataclass
from typing import Any, TypeVar

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.memory.native_limits import (
    effective_batch_size,
    effective_dtype,
    effective_sequence_length,
)
from controlplane.domain.memory.plan import plan
from controlplane.domain.runtimes.launch import Launch
from controlplane.domain.runtimes.native.memory import MEMORY
from controlplane.domain.runtimes.native.settings import EngineSettings
from controlplane.domain.runtimes.served_name import served_model_name
from controlplane.domain.spec import Spec
from controlplane.domain.spec.adapter_folders import adapter_folder
from controlplane.domain.spec.choices import BatchSchedulerPolicy, Dtype
from controlplane.domain.spec.engine_build import LoraConfiguration
from controlplane.domain.spec.trt_llm import TrtLlmV1

Value = TypeVar("Value")

MODULE = "workers.runtimes.native"
DTYPES = (Dtype.FLOAT32, Dtype.BFLOAT16)
CUDA = "cuda"


@dataclass(frozen=True, kw_only=True)
class _Device:
    kind: str
    memory_bytes: int


def render(
    spec: Spec,
    checkpoint: CheckpointFacts,
    *,
    model_dir: str,
    host: str,
    port: int,
    python: str,
    threads: int,
    memory_bytes: int,
    computes_bfloat16: bool = False,
    runs_remote_code: bool = False,
    traces_url: str | None = None,
) -> Launch:
    """Return the launch of an engine that keeps within `memory_bytes` of the host or its GPU.

    Raises ValueError for an artifact that only its own Python can load.
    """
    if runs_remote_code:
        raise ValueError("The native engine executes nothing from a checkpoint; vLLM does.")
    settings = engine_settings(
        spec,
        checkpoint,
        model_dir=model_dir,
        host=host,
        port=port,
        threads=threads,
        memory_bytes=memory_bytes,
        computes_bfloat16=computes_bfloat16,
    )
    return Launch(
        argv=(python, "-m", MODULE, *to_arguments(settings)),
        environment={
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "OMP_NUM_THREADS": str(threads),
            **({"TRACES_URL": traces_url} if traces_url else {}),
        },
        files={},
    )


def engine_settings(
    spec: Spec,
    checkpoint: CheckpointFacts,
    *,
    model_dir: str,
    host: str,
    port: int,
    threads: int,
    memory_bytes: int,
    computes_bfloat16: bool = False,
) -> EngineSettings:
    """Return the engine's settings with every open limit filled in.

    `computes_bfloat16` is a fact of the host's processor; a GPU computes it by its kind.
    """
    device = _Device(
        kind=spec.accelerator.kind if spec.accelerator else CPU, memory_bytes=memory_bytes
    )
    planned = plan(spec, checkpoint, device, MEMORY, computes_bfloat16=computes_bfloat16)
    length, pools = effective_sequence_length(spec, checkpoint), spec.base_model.is_encoder
    return EngineSettings(
        model_dir=model_dir,
        host=host,
        port=port,
        served_model_name=served_model_name(spec),
        max_batch_size=effective_batch_size(spec),
        max_seq_len=length,
        max_num_tokens=spec.max_num_tokens,
        kv_cache_bytes=planned.kv_cache_bytes,
        threads=threads,
        dtype=effective_dtype(spec, kind=device.kind, computes_bfloat16=computes_bfloat16),
        device=None if device.kind == CPU else CUDA,
        default_max_tokens=None if pools else min(spec.default_max_tokens or length, length),
        pools=pools,
        rerank_template=spec.settings.rerank_template,
        **({} if pools else _of_generation(spec, model_dir)),
    )


def _of_generation(spec: Spec, model_dir: str) -> dict[str, Any]:
    build = spec.engine_build
    adapters, shape = build.lora_adapters or {}, build.lora_configuration or LoraConfiguration()
    runtime = spec.trt_llm.runtime if isinstance(spec.trt_llm, TrtLlmV1) else None
    return {
        "total_token_limit": _unless(runtime and runtime.total_token_limit, 500_000),
        "batch_scheduler_policy": _unless(
            runtime and runtime.batch_scheduler_policy, BatchSchedulerPolicy.GUARANTEED_NO_EVICT
        ),
        "lookahead_ngram_size": build.speculator and build.speculator.lookahead_ngram_size,
        "draft_factor": _unless(spec.settings.draft_factor if build.speculator else 1, 1),
        "undrafted_share": _unless(spec.settings.undrafted_share if build.speculator else 0, 0),
        "adapters": tuple((name, adapter_folder(model_dir, name)) for name in adapters),
        "generic_tools": spec.settings.generic_tools,
        "max_adapter_rank": shape.max_lora_rank if adapters else None,
    }


def _unless(value: Value | None, default: Value) -> Value | None:
    """Return a setting that differs from what the engine does by itself."""
    return None if value == default else value


def to_arguments(settings: EngineSettings) -> tuple[str, ...]:
    """Return the settings as arguments, one flag each, in a fixed order."""
    pairs = (
        ("--model-dir", settings.model_dir),
        ("--host", settings.host),
        ("--port", settings.port),
        ("--served-model-name", settings.served_model_name),
        ("--max-batch-size", settings.max_batch_size),
        ("--max-seq-len", settings.max_seq_len),
        ("--max-num-tokens", settings.max_num_tokens),
        ("--kv-cache-bytes", settings.kv_cache_bytes or None),
        ("--threads", settings.threads),
        ("--dtype", settings.dtype),
        ("--device", settings.device),
        ("--default-max-tokens", settings.default_max_tokens),
        ("--total-token-limit", settings.total_token_limit),
        ("--batch-scheduler-policy", settings.batch_scheduler_policy),
        ("--lookahead-ngram-size", settings.lookahead_ngram_size),
        ("--draft-factor", settings.draft_factor),
        ("--undrafted-share", settings.undrafted_share),
        ("--max-adapter-rank", settings.max_adapter_rank),
        *(("--adapter", f"{name}={folder}") for name, folder in settings.adapters),
        ("--task", "pool" if settings.pools else None),
        ("--rerank-template", settings.rerank_template),
    )
    given = [(flag, str(value)) for flag, value in pairs if value is not None]
    flags = ("--generic-tools",) if settings.generic_tools else ()
    return (*(text for pair in given for text in pair), *flags)
