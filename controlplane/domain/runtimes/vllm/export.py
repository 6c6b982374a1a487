"""A config -> the `vllm serve` line that comes nearest to it."""

from collections.abc import Mapping

from controlplane.domain.commands.checkpoints import model_argument
from controlplane.domain.commands.command_writer import CommandWriter, command_text
from controlplane.domain.commands.report import ConfigExport
from controlplane.domain.runtimes.vllm.arguments import (
    FLAGS,
    say_adapters,
    say_chunked_prefill,
    say_default_tokens,
    say_experts,
    say_host_cache,
    say_lookahead,
    say_pooling,
    value_of,
)
from controlplane.domain.runtimes.vllm.engine_keys import PATCH, arguments_of, say_engine_arguments
from controlplane.domain.runtimes.vllm.own_arguments import say_own_arguments
from controlplane.domain.runtimes.vllm.parse import KV_FRACTION, KV_FRACTION_REASON, SERVED_NAME
from controlplane.domain.runtimes.vllm.precision import FIELD as QUANTIZATION
from controlplane.domain.runtimes.vllm.precision import flags_for
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import CheckpointSource

FORMAT = "vllm"
_CACHE_SHARE = "kv_cache_config.free_gpu_memory_fraction"
_REPOSITORY = "trt_llm.build.checkpoint_repository"
_LISTED_SOURCES = frozenset(
    {CheckpointSource.HF, CheckpointSource.LOCAL, CheckpointSource.S3, CheckpointSource.GCS}
)


def export(spec: Spec) -> ConfigExport:
    line = CommandWriter(spec)
    environment = line.environment()
    _say_checkpoint(line)
    for field, flag in FLAGS.items():
        if line.gives(field):
            line.say(field, flag, value_of(spec, field))
    _say_precision(line)
    if line.gives(KV_FRACTION):
        words = ("--gpu-memory-utilization", value_of(spec, KV_FRACTION))
        line.change(KV_FRACTION, words, KV_FRACTION_REASON)
    _say_share_of_v2(line)
    say_host_cache(line)
    say_chunked_prefill(line)
    if line.gives(SERVED_NAME):
        line.say(SERVED_NAME, "--served-model-name", spec.served_model_name)
    say_default_tokens(line)
    say_experts(line)
    say_lookahead(line)
    say_adapters(line, lambda _, place: model_argument(place))
    say_pooling(line)
    say_engine_arguments(line)
    say_own_arguments(line)
    line.say("enginehouse.runtime")
    line.say("model_metadata.enginehouse.runtime")
    line.say("trt_llm.inference_stack")
    text = command_text(environment, ("vllm", "serve"), line.words)
    return ConfigExport(
        format=FORMAT,
        text=text,
        files={"serve.sh": text},
        changed=tuple(line.changed),
        not_carried=line.not_carried(),
    )


def _say_checkpoint(line: CommandWriter) -> None:
    place = line.spec.checkpoint
    if place is None:
        line.words.append("MODEL")
        return
    if place.source in _LISTED_SOURCES:
        model = model_argument(place)
        line.say(_REPOSITORY, *(("--model", model) if model.startswith("-") else (model,)))
    else:
        line.change(
            _REPOSITORY,
            (model_argument(place),),
            f"vLLM does not load from {place.source}: download it, and name its folder.",
        )
    if place.revision:
        line.words += ["--revision", place.revision]


def _say_share_of_v2(line: CommandWriter) -> None:
    cache = arguments_of(line).get("kv_cache_config")
    share = cache.get("free_gpu_memory_fraction") if isinstance(cache, Mapping) else None
    if share is not None:
        words = ("--gpu-memory-utilization", share)
        line.change(f"{PATCH}.{_CACHE_SHARE}", words, KV_FRACTION_REASON)


def _say_precision(line: CommandWriter) -> None:
    words, same = flags_for(line.spec.quantization_type)
    if same:
        line.say(QUANTIZATION, *words)
    else:
        line.leave(QUANTIZATION, "vLLM does not quantize to it while loading; serve the artifact.")
