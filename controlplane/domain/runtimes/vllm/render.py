"""Spec -> the command that starts vLLM on an artifact."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.domain.commands.command_writer import CommandWriter
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.existing_quantization import ExistingQuantization
from controlplane.domain.facts.gpus import CPU, PLANNABLE_GPUS
from controlplane.domain.memory import UnplannableError
from controlplane.domain.memory.plan import plan
from controlplane.domain.runtimes.launch import Launch
from controlplane.domain.runtimes.outside_engine import account
from controlplane.domain.runtimes.served_name import served_model_name
from controlplane.domain.runtimes.vllm import arguments
from controlplane.domain.runtimes.vllm.capabilities import VERSION, VERSIONS
from controlplane.domain.runtimes.vllm.chat_parsers import say_chat_parsers
from controlplane.domain.runtimes.vllm.engine_keys import say_engine_arguments
from controlplane.domain.runtimes.vllm.memory import MEMORY, MOST_OF_A_DEVICE
from controlplane.domain.runtimes.vllm.own_arguments import say_own_arguments
from controlplane.domain.runtimes.vllm.parse import (
    CHUNKED,
    DEFAULT_TOKENS,
    KV_FRACTION,
    SERVED_NAME,
)
from controlplane.domain.runtimes.vllm.pooling_mode import say_pooling_mode
from controlplane.domain.runtimes.vllm.reasons import REASONS, SEQUENCE_REASON
from controlplane.domain.spec import Spec
from controlplane.domain.wire.otlp import traces_endpoint

MODULE = "vllm.entrypoints.cli.main"
TELLS_CACHED = "--enable-prompt-tokens-details"
"""Each answer tells how many tokens of its prompt were cached, by which the gateway corrects what
it thinks that an engine has. The config's own arguments come after it, and may turn it off."""
_TRACED = {
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
    "OTEL_SERVICE_NAME": "enginehouse-engine",
    "OTEL_TRACES_SAMPLER": "parentbased_always_off",
}
"""vLLM would speak gRPC, and tell of each request that the gateway does not trace by a trace of its
own. Source: `vllm/tracing/otel.py` and `do_tracing` of `v1/engine/output_processor.py`, 0.25.1 and
0.32.0, whose spans were sent to a collector with either sampler, 2026-11-30."""
_NO_MEDIA_HOST = "none.invalid"
"""A name that no host ever has (RFC 6761). Without a list vLLM fetches what any request names, from
within the network that it serves in; an empty list counts as none."""
_TOKENS_REASON = "vLLM wants a step to hold a whole prompt without chunked prefill."
_LENGTH_REASON = (
    "vLLM would cut every answer at it; the gateway gives it to requests that name no length."
)
_BATCH_REASON = "vLLM wants a step to hold one token of every request."
_DRAFTS_REASON = (
    "vLLM wants a step to hold a token and all drafts of every request where there are adapters."
)
_ITEM_REASON = "vLLM takes a picture or film of this family in one step, and ends at fewer tokens."
_SHARE_REASON = (
    "vLLM takes a share of the whole GPU for weights, activations and KV cache together; it is "
    "worked out from the memory plan so that the KV cache gets this share of what is left."
)


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
    version: str = VERSION,
    exported: ExistingQuantization | None = None,
    adapter_dirs: Mapping[str, str] | None = None,
    runs_remote_code: bool = False,
    traces_url: str | None = None,
) -> Launch:
    """Return the launch of vLLM on the artifact in `model_dir`.

    `exported` is how the artifact is quantized, where that was read from its own files; adapters
    lie below the artifact unless `adapter_dirs` says otherwise. `runs_remote_code` only where an
    admin granted the artifact's own Python. Raises ValueError for a version not known here.
    """
    if version not in VERSIONS:
        raise ValueError(f"vLLM {version} is not known here; {VERSIONS[0]} to {VERSIONS[-1]} are.")
    line = account(spec, REASONS)
    line.words += [model_dir, "--host", host, "--port", str(port)]
    line.words += ["--allowed-media-domains", _NO_MEDIA_HOST]
    line.say("model_name")
    line.say("trt_llm.build.checkpoint_repository")
    line.say(SERVED_NAME, "--served-model-name", served_model_name(spec))
    _say_limits(line, checkpoint)
    _say_precision(line, exported or checkpoint.existing_quantization)
    _say_share(line, _memory_share(spec, checkpoint, memory_bytes))
    devices = spec.tensor_parallel * spec.pipeline_parallel
    arguments.say_host_cache(line, devices=devices)
    line.leave(DEFAULT_TOKENS, _LENGTH_REASON)
    has_experts = bool(checkpoint.experts)
    arguments.say_experts(line, has_experts=has_experts)
    arguments.say_drafter(line, version)
    folders = adapter_dirs or {}
    arguments.say_adapters(
        line, lambda name, _: folders.get(name) or f"{model_dir}/adapters/{name}"
    )
    line.words += arguments.adapter_slots(spec)
    arguments.say_pooling(line)
    say_pooling_mode(line, checkpoint)
    say_chat_parsers(line, checkpoint, version)
    say_engine_arguments(line, devices=devices, version=version, has_experts=has_experts)
    line.words += [] if spec.base_model.is_encoder else [TELLS_CACHED]
    say_own_arguments(line, version)
    line.words += ["--trust-remote-code"] * runs_remote_code
    for field in ("enginehouse.runtime", "model_metadata.enginehouse.runtime"):
        line.say(field)
    line.words += ["--otlp-traces-endpoint", traces_endpoint(traces_url)] if traces_url else []
    return Launch(
        argv=(python, "-m", MODULE, "serve", *line.words),
        environment={
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "OMP_NUM_THREADS": str(threads),
            **(_TRACED if traces_url else {}),
        },
        files={},
        changed=tuple(line.changed),
        ignored_settings=line.not_carried(),
    )


def _say_limits(line: CommandWriter, checkpoint: CheckpointFacts) -> None:
    """Say every limit, also those that are a default here: vLLM's own differ by GPU."""
    spec = line.spec
    _say_length(line, checkpoint)
    _say_size(line, "max_batch_size", spec.max_batch_size)
    _say_step(line, checkpoint)
    line.say(spec.tensor_parallel_path, "--tensor-parallel-size", spec.tensor_parallel)
    stages = 1 if spec.is_v2 else spec.pipeline_parallel  # v2 passes it on by itself
    line.say("trt_llm.build.pipeline_parallel_count",
             *(("--pipeline-parallel-size", stages) if stages > 1 else ()))  # fmt: skip
    for field in (CHUNKED, arguments.CHUNKED_V2):
        line.say(field)
    if not spec.base_model.is_encoder:
        line.words.append(f"--{'' if arguments.chunks(spec) else 'no-'}enable-chunked-prefill")


def _say_length(line: CommandWriter, checkpoint: CheckpointFacts) -> None:
    tokens = arguments.sequence_tokens(line.spec, checkpoint)
    if tokens == line.spec.max_seq_len:
        _say_size(line, "max_seq_len", tokens)
    else:
        field = f"{line.spec.limits_path}.max_seq_len"
        line.change(field, (arguments.FLAGS[field], tokens), SEQUENCE_REASON)


def _say_size(line: CommandWriter, name: str, value: int | None) -> None:
    field = f"{line.spec.limits_path}.{name}"
    line.say(field, *((arguments.FLAGS[field], value) if value is not None else ()))


def _say_step(line: CommandWriter, checkpoint: CheckpointFacts) -> None:
    spec = line.spec
    field = f"{spec.limits_path}.max_num_tokens"
    tokens = arguments.step_tokens(spec, checkpoint)
    words = (arguments.FLAGS[field], tokens)
    if tokens == spec.max_num_tokens:
        line.say(field, *words)
    else:
        line.change(field, words, _why_raised(tokens, spec, checkpoint))


def _why_raised(tokens: int, spec: Spec, checkpoint: CheckpointFacts) -> str:
    if tokens == arguments.whole_prompt_tokens(spec, checkpoint):
        return _TOKENS_REASON
    if tokens == arguments.seen_tokens(spec, checkpoint):
        return _ITEM_REASON
    return _DRAFTS_REASON if tokens == arguments.adapted_draft_tokens(spec) else _BATCH_REASON


def _say_precision(line: CommandWriter, stored: ExistingQuantization | None) -> None:
    """Say the KV cache's type; the artifact itself says how its weights are stored."""
    line.say("trt_llm.build.quantization_type")
    holds_fp8 = stored is not None and (stored.kv_cache or "").upper() == "FP8"
    if line.spec.quantization_type.quantizes_kv_cache or holds_fp8:
        line.words += ["--kv-cache-dtype", "fp8"]


def _say_share(line: CommandWriter, share: float) -> None:
    words = ("--gpu-memory-utilization", f"{share:.3f}")
    if line.gives(KV_FRACTION):
        line.change(KV_FRACTION, words, _SHARE_REASON)
    else:
        line.words += words


def _memory_share(spec: Spec, checkpoint: CheckpointFacts, memory_bytes: int) -> float:
    """Return the share of a GPU in which the KV cache gets the config's share of what is left."""
    kind = spec.accelerator.kind if spec.accelerator else CPU
    gpu = PLANNABLE_GPUS.get(kind)
    total = gpu.memory_bytes if gpu and gpu.memory_bytes else memory_bytes
    cache_share = min(max(spec.kv_cache_fraction, 0.0), 1.0)
    try:
        planned = plan(spec, checkpoint, _Device(kind=kind, memory_bytes=total), MEMORY)
    except UnplannableError:
        return min(cache_share, MOST_OF_A_DEVICE)
    used = planned.weights_bytes + planned.activations_bytes + planned.overhead_bytes
    share = cache_share + (1 - cache_share) * min(used / total, 1.0)
    return min(math.floor(share * 1000) / 1000, MOST_OF_A_DEVICE)
