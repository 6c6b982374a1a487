"""Spec -> the command that starts the native engine."""

from dataclasses import dataclass

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.memory.native_limits import (
    effective_batch_size,
    effective_sequence_length,
)
from controlplane.domain.memory.plan import plan
from controlplane.domain.runtimes.launch import Launch
from controlplane.domain.runtimes.native.settings import EngineSettings
from controlplane.domain.runtimes.served_name import served_model_name
from controlplane.domain.spec import Spec

MODULE = "workers.runtimes.native"
DTYPES = ("float32", "bfloat16")


@dataclass(frozen=True, kw_only=True)
class _Host:
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
) -> Launch:
    """Return the launch of an engine that keeps within `memory_bytes`."""
    settings = engine_settings(
        spec,
        checkpoint,
        model_dir=model_dir,
        host=host,
        port=port,
        threads=threads,
        memory_bytes=memory_bytes,
    )
    return Launch(
        argv=(python, "-m", MODULE, *to_arguments(settings)),
        environment={
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "OMP_NUM_THREADS": str(threads),
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
) -> EngineSettings:
    """Return the engine's settings with every open limit filled in."""
    planned = plan(spec, checkpoint, _Host(kind=CPU, memory_bytes=memory_bytes), "native")
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
        dtype="float32",
        default_max_tokens=None if pools else min(spec.default_max_tokens or length, length),
        pools=pools,
    )


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
        ("--default-max-tokens", settings.default_max_tokens),
        ("--task", "pool" if settings.pools else None),
    )
    given = [(flag, str(value)) for flag, value in pairs if value is not None]
    return tuple(text for pair in given for text in pair)
