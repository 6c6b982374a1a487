from collections.abc import Mapping
from typing import Any

import yaml

from controlplane.domain.commands.command_writer import CommandWriter
from controlplane.domain.commands.draft import ADAPTERS
from controlplane.domain.commands.lookahead import drafted_by
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.existing_quantization import ExistingQuantization
from controlplane.domain.runtimes.launch import Launch
from controlplane.domain.runtimes.outside_engine import account
from controlplane.domain.runtimes.trtllm.arguments import sort_arguments
from controlplane.domain.runtimes.trtllm.capabilities import VERSION, VERSIONS
from controlplane.domain.runtimes.trtllm.drafts import say_lookahead
from controlplane.domain.runtimes.trtllm.engine_keys import (
    DRIVERS_OWN,
    HOST_BYTES,
    MODULES,
    PATCH,
    POLICY,
    RANK,
    V1_FIELDS,
    V2_FIELDS,
)
from controlplane.domain.runtimes.trtllm.reasons import REASONS
from controlplane.domain.spec import Spec
from controlplane.domain.spec.trt_llm import TrtLlmV1, TrtLlmV2

MODULE = "tensorrt_llm.commands.serve"
FILE_NAME = "engine.yaml"
_IN_THE_ARTIFACT = (
    "model_name", "trt_llm.build.checkpoint_repository", "trt_llm.build.quantization_type",
    "enginehouse.runtime", "model_metadata.enginehouse.runtime",
)  # fmt: skip
_PEFT = {
    "lora_cache_max_adapter_size": "max_adapter_size",
    "lora_cache_optimal_adapter_size": "optimal_adapter_size",
    "lora_cache_gpu_memory_fraction": "device_cache_percent",
    "lora_cache_host_memory_bytes": "host_cache_size",
}


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
    version: str = VERSION,
    exported: ExistingQuantization | None = None,
    adapter_dirs: Mapping[str, str] | None = None,
    runs_remote_code: bool = False,
    traces_url: str | None = None,
) -> Launch:
    """Return the launch of TensorRT-LLM on the artifact in `model_dir`.

    It takes its memory by the config's share of what is free, so `memory_bytes` does not show.
    `runs_remote_code` only where an admin granted the artifact's own Python. Raises ValueError for
    a version that is not known here. Nothing is said of `traces_url`: where the packages that
    tracing needs are not installed, which its own do not bring along, it would not start.
    """
    if version not in VERSIONS:
        raise ValueError(f"TensorRT-LLM {version} is not known here; {', '.join(VERSIONS)} are.")
    line = account(spec, REASONS)
    for field in _IN_THE_ARTIFACT:
        line.say(field)
    folders = adapter_dirs or {}
    flags: dict[str, str] = {}
    if isinstance(spec.trt_llm, TrtLlmV2):
        keys = _v2_keys(line, spec.trt_llm, version, flags)
    else:
        keys = _v1_keys(line, spec.trt_llm, version)
        keys |= _adapters(line, {name: folders.get(name) or f"{model_dir}/adapters/{name}"
                                 for name in spec.engine_build.lora_adapters or {}})  # fmt: skip
    _add_kv_type(spec, exported or checkpoint.existing_quantization, keys)
    keys = _drivers_own(spec) | keys | ({"trust_remote_code": True} if runs_remote_code else {})
    words = [model_dir, "--host", host, "--port", str(port), "--backend", "pytorch"]
    words += [word for name, value in sorted(flags.items()) for word in (f"--{name}", value)]
    return Launch(
        argv=(python, "-m", MODULE, *words, _config_flag(version), FILE_NAME),
        environment={
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "OMP_NUM_THREADS": str(threads),
        },
        files={FILE_NAME: to_yaml(keys)},
        changed=tuple(line.changed),
        ignored_settings=line.not_carried(),
    )


def to_yaml(keys: Mapping[str, Any]) -> str:
    """Return the keys as a file, always in the same order."""
    ordered = {name: keys[name] for name in sorted(keys)}
    return str(yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=100))


def _config_flag(version: str) -> str:
    """Return the name that the flag has in this version; 1.2 has the older one for certain."""
    return "--extra_llm_api_options" if version == "1.2" else "--config"


def _v1_keys(line: CommandWriter, engine: TrtLlmV1, version: str) -> dict[str, Any]:
    spec, runtime = line.spec, engine.runtime
    for field in V1_FIELDS.values():
        line.say(field)
    keys: dict[str, Any] = {
        "max_batch_size": spec.max_batch_size,
        "max_num_tokens": _step_tokens(spec),
        "max_beam_width": 1,
        "tensor_parallel_size": spec.tensor_parallel,
        "pipeline_parallel_size": spec.pipeline_parallel,
        "enable_chunked_prefill": spec.chunks_prefill,
        "kv_cache_config": _cache(line, engine),
        "scheduler_config": {
            "capacity_scheduler_policy": runtime.batch_scheduler_policy.value.upper()
        },
    }
    line.say(POLICY)
    if spec.max_seq_len is not None:
        keys["max_seq_len"] = spec.max_seq_len
    if engine.build.sequence_parallel_count > 1:
        keys["context_parallel_size"] = engine.build.sequence_parallel_count
    if engine.build.moe_expert_parallel_option > 0:
        keys["moe_expert_parallel_size"] = engine.build.moe_expert_parallel_option
    return keys | say_lookahead(line, version)


def _step_tokens(spec: Spec) -> int:
    """Return the tokens of a step: one and all drafts of every row fit, as the checks say."""
    drafted = drafted_by(spec.speculator) if spec.speculator else None
    return max(spec.max_num_tokens, spec.max_batch_size * (drafted + 1) if drafted else 0)


def _cache(line: CommandWriter, engine: TrtLlmV1) -> dict[str, Any]:
    cache: dict[str, Any] = {
        "free_gpu_memory_fraction": engine.runtime.kv_cache_free_gpu_mem_fraction,
        "enable_block_reuse": True,
    }
    if engine.runtime.kv_cache_host_memory_bytes is not None:
        cache["host_cache_size"] = engine.runtime.kv_cache_host_memory_bytes
    line.say(HOST_BYTES)
    return cache


def _v2_keys(
    line: CommandWriter, engine: TrtLlmV2, version: str, flags: dict[str, str]
) -> dict[str, Any]:
    runtime = engine.runtime
    keys: dict[str, Any] = {}
    for name, field in V2_FIELDS.items():
        if (value := getattr(runtime, name)) is not None:
            keys[name] = value
        line.say(field)
    given = sort_arguments(runtime.patch_kwargs, version)
    for path, reason in given.left.items():
        line.miss(f"{PATCH}.{path}", reason)
    line.say(PATCH)
    flags |= given.flags
    cache = {"free_gpu_memory_fraction": 0.9, "enable_block_reuse": True}
    merged = {**cache, **(given.keys.get("kv_cache_config") or {})}
    # The named setting is what checks and plan follow, so it wins over an argument of its name.
    return {**given.keys, **keys, "kv_cache_config": merged}


def _adapters(line: CommandWriter, folders: Mapping[str, str]) -> dict[str, Any]:
    build, runtime = line.spec.engine_build, line.spec.trt_llm.runtime
    for field in (RANK, MODULES):
        line.say(field)
    keys: dict[str, Any] = {}
    if folders:
        shape = build.lora_configuration
        reason = "trtllm-serve takes folders without names; each request names the folder it wants."
        line.change(ADAPTERS, (), reason)
        lora: dict[str, Any] = {
            "lora_dir": list(folders.values()),
            "max_lora_rank": shape.max_lora_rank if shape else 64,
            "max_loras": len(folders),
            "max_cpu_loras": len(folders),
        }
        if shape and shape.lora_target_modules:
            lora["lora_target_modules"] = list(shape.lora_target_modules)
        keys["lora_config"] = lora
    sizes = {theirs: getattr(runtime, ours) for ours, theirs in _PEFT.items()}
    if peft := {name: size for name, size in sizes.items() if size is not None}:
        keys["peft_cache_config"] = peft
    for name in _PEFT:
        line.say(f"trt_llm.runtime.{name}")
    return keys


def _add_kv_type(spec: Spec, stored: ExistingQuantization | None, keys: dict[str, Any]) -> None:
    holds_fp8 = stored is not None and (stored.kv_cache or "").upper() == "FP8"
    if spec.quantization_type.quantizes_kv_cache or holds_fp8:
        keys["kv_cache_config"].setdefault("dtype", "fp8")


def _drivers_own(spec: Spec) -> dict[str, Any]:
    """Return what every engine gets unless the config says otherwise."""
    own = {name: value for name, value in DRIVERS_OWN.items() if name != "backend"}
    graphs = {"enable_padding": True, "max_batch_size": spec.max_batch_size}
    return {**own, "cuda_graph_config": graphs}
