"""A config -> the `trtllm-serve` line and YAML file that come nearest to it."""

from typing import Any

import yaml

from controlplane.domain.commands.checkpoints import model_argument
from controlplane.domain.commands.command_writer import CommandWriter, command_text
from controlplane.domain.commands.draft import ADAPTERS
from controlplane.domain.commands.report import ConfigExport
from controlplane.domain.runtimes.trtllm.arguments import sort_arguments
from controlplane.domain.runtimes.trtllm.capabilities import VERSION
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
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.trt_llm import TrtLlmV1, TrtLlmV2

FORMAT = "trtllm"
FILE_NAME = "engine.yaml"
_REPOSITORY = "trt_llm.build.checkpoint_repository"
_QUANTIZATION = "trt_llm.build.quantization_type"


def export(spec: Spec) -> ConfigExport:
    """Return the command with its file, and everything that they cannot say."""
    line = CommandWriter(spec)
    environment = line.environment()
    _say_checkpoint(line)
    keys = _v2_keys(line) if isinstance(spec.trt_llm, TrtLlmV2) else _v1_keys(line)
    keys = {name: keys[name] for name in sorted(keys)} | _drivers_own(keys)
    if not spec.quantization_type.is_none:
        line.leave(
            _QUANTIZATION,
            "trtllm-serve loads what the checkpoint is. Serve the artifact that the build makes, "
            "whose `hf_quant_config.json` says so.",
        )
    for field in ("enginehouse.runtime", "model_metadata.enginehouse.runtime",
                  "trt_llm.inference_stack"):  # fmt: skip
        line.say(field)
    line.words += ["--config", FILE_NAME]
    settings = str(yaml.safe_dump(keys, sort_keys=False, allow_unicode=True, width=100))
    command = command_text(environment, ("trtllm-serve",), line.words)
    return ConfigExport(
        format=FORMAT,
        text=f"cat > {FILE_NAME} <<'END_OF_ENGINE_YAML'\n{settings}END_OF_ENGINE_YAML\n{command}",
        files={"serve.sh": command, FILE_NAME: settings},
        changed=tuple(line.changed),
        not_carried=line.not_carried(),
    )


def _say_checkpoint(line: CommandWriter) -> None:
    place = line.spec.checkpoint
    if place is None:
        line.words.append("MODEL")
        return
    if place.source in (CheckpointSource.HF, CheckpointSource.LOCAL):
        line.say(_REPOSITORY, model_argument(place))
    else:
        reason = f"trtllm-serve does not load from {place.source}: download it, name its folder."
        line.change(_REPOSITORY, (model_argument(place),), reason)
    if place.revision:
        line.words += ["--revision", place.revision]


def _v1_keys(line: CommandWriter) -> dict[str, Any]:
    engine = line.spec.trt_llm
    assert isinstance(engine, TrtLlmV1)
    build, runtime = engine.build, engine.runtime
    keys: dict[str, Any] = {
        "max_batch_size": build.max_batch_size,
        "enable_chunked_prefill": runtime.enable_chunked_context,
    }
    for name, field in V1_FIELDS.items():
        if line.gives(field):
            block, attribute = field.split(".")[1:]
            keys[name] = getattr(getattr(engine, block), attribute)
        line.say(field)
    _nest_memory_share(keys)
    if line.gives(HOST_BYTES):
        keys.setdefault("kv_cache_config", {})["host_cache_size"] = (
            runtime.kv_cache_host_memory_bytes
        )
        line.say(HOST_BYTES)
    if line.gives(POLICY):
        policy = runtime.batch_scheduler_policy.value.upper()
        keys["scheduler_config"] = {"capacity_scheduler_policy": policy}
        line.say(POLICY)
    keys |= say_lookahead(line)
    keys |= _adapters(line)
    line.say("trt_llm.build.base_model")
    _leave_names(line)
    return keys


def _v2_keys(line: CommandWriter) -> dict[str, Any]:
    engine = line.spec.trt_llm
    assert isinstance(engine, TrtLlmV2)
    runtime = engine.runtime
    keys: dict[str, Any] = {
        "max_batch_size": runtime.max_batch_size,
        "enable_chunked_prefill": runtime.enable_chunked_prefill,
    }
    for name, field in V2_FIELDS.items():
        if line.gives(field):
            keys[name] = getattr(runtime, name)
        line.say(field)
    given = sort_arguments(runtime.patch_kwargs, VERSION)
    for path, reason in given.left.items():
        line.miss(f"{PATCH}.{path}", reason)
    line.words += [word for name, value in sorted(given.flags.items())
                   for word in (f"--{name}", value)]  # fmt: skip
    line.say(PATCH)
    line.say("trt_llm.build.base_model")
    _leave_names(line)
    # The named setting is what checks and plan follow, so it wins over an argument of its name.
    return {**given.keys, **keys}


def _nest_memory_share(keys: dict[str, Any]) -> None:
    share = keys.pop("free_gpu_memory_fraction", None)
    if share is not None:
        keys["kv_cache_config"] = {"free_gpu_memory_fraction": share}


def _adapters(line: CommandWriter) -> dict[str, Any]:
    build = line.spec.engine_build
    if not build.lora_adapters:
        return {}
    folders = [model_argument(place) for place in build.lora_adapters.values()]
    reason = "trtllm-serve takes folders without names; each request names the folder it wants."
    line.change(ADAPTERS, (), reason)
    shape = build.lora_configuration
    for field in (RANK, MODULES):
        line.say(field)
    return {
        "lora_config": {
            "lora_dir": folders,
            "max_lora_rank": shape.max_lora_rank if shape else 64,
            **({"lora_target_modules": shape.lora_target_modules} if shape else {}),
        }
    }


def _leave_names(line: CommandWriter) -> None:
    line.leave(
        "trt_llm.runtime.served_model_name",
        "trtllm-serve lists its model under the folder's name; the gateway serves the wanted one.",
    )
    line.leave(
        "trt_llm.runtime.request_default_max_tokens",
        "trtllm-serve has no default length of answers; the gateway adds `max_tokens`.",
    )


def _drivers_own(keys: dict[str, Any]) -> dict[str, object]:
    """Return what an engine should always get, unless the config says otherwise."""
    return {name: value for name, value in DRIVERS_OWN.items()
            if name not in keys and name != "backend"}  # fmt: skip
