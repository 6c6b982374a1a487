"""A config -> the `vllm serve` line that comes nearest to it."""

import json

from controlplane.domain.commands.checkpoints import model_argument
from controlplane.domain.commands.draft import ADAPTERS
from controlplane.domain.commands.lookahead import REASON, SPECULATOR, drafted_by, is_plain
from controlplane.domain.commands.outgoing import Outgoing, command_text
from controlplane.domain.commands.report import ConfigExport
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.runtimes.vllm.adapters import RANK
from controlplane.domain.runtimes.vllm.parse import (
    BASE_MODEL,
    CHUNKED,
    COUNTS,
    DEFAULT_TOKENS,
    EXPERTS,
    KV_FRACTION,
    KV_FRACTION_REASON,
    KV_HOST_BYTES,
    ROUTE,
    SERVED_NAME,
)
from controlplane.domain.runtimes.vllm.precision import FIELD as QUANTIZATION
from controlplane.domain.runtimes.vllm.precision import flags_for
from controlplane.domain.spec import CheckpointRepository, Spec
from controlplane.domain.spec.choices import BaseModelKind, CheckpointSource

FORMAT = "vllm"
_REPOSITORY = "trt_llm.build.checkpoint_repository"
_V2 = {
    "trt_llm.runtime.max_seq_len": "--max-model-len",
    "trt_llm.runtime.max_batch_size": "--max-num-seqs",
    "trt_llm.runtime.max_num_tokens": "--max-num-batched-tokens",
    "trt_llm.runtime.tensor_parallel_size": "--tensor-parallel-size",
}
_CONVERSIONS = {"/v1/embeddings": "embed", "/predict": "classify"}
_LISTED_SOURCES = frozenset(
    {CheckpointSource.HF, CheckpointSource.LOCAL, CheckpointSource.S3, CheckpointSource.GCS}
)


def export(spec: Spec) -> ConfigExport:
    """Return the command, and everything that it cannot say."""
    line = Outgoing(spec)
    environment = line.environment()
    _say_checkpoint(line)
    for field, flag in {**{field: f"--{name}" for name, field in COUNTS.items()}, **_V2}.items():
        if line.gives(field):
            line.say(field, flag, _value(spec, field))
    _say_precision(line)
    _say_memory(line)
    _say_serving(line)
    _say_speculation(line)
    _say_adapters(line)
    _say_pooling(line)
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


def _say_checkpoint(line: Outgoing) -> None:
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


def _say_precision(line: Outgoing) -> None:
    words, same = flags_for(line.spec.quantization_type)
    if same:
        line.say(QUANTIZATION, *words)
    else:
        line.leave(QUANTIZATION, "vLLM does not quantize to it while loading; serve the artifact.")


def _say_memory(line: Outgoing) -> None:
    if line.gives(KV_FRACTION):
        words = ("--gpu-memory-utilization", _value(line.spec, KV_FRACTION))
        line.change(KV_FRACTION, words, KV_FRACTION_REASON)
    if line.gives(KV_HOST_BYTES):
        gib = int(str(_value(line.spec, KV_HOST_BYTES))) / GIB
        reason = "vLLM counts GiB over all cards together; here it is bytes for each."
        line.change(KV_HOST_BYTES, ("--kv-offloading-size", _number(gib)), reason)


def _say_serving(line: Outgoing) -> None:
    for field in (CHUNKED, "trt_llm.runtime.enable_chunked_prefill"):
        if line.gives(field):
            on = bool(_value(line.spec, field))
            word = "--enable-chunked-prefill" if on else "--no-enable-chunked-prefill"
            line.say(field, word)
    if line.gives(SERVED_NAME):
        line.say(SERVED_NAME, "--served-model-name", line.spec.served_model_name)
    if line.gives(DEFAULT_TOKENS):
        given = json.dumps({"max_new_tokens": line.spec.default_max_tokens})
        reason = "vLLM refuses longer answers; here it is the length of requests that name none."
        line.change(DEFAULT_TOKENS, ("--override-generation-config", given), reason)
    experts = line.spec.engine_build.moe_expert_parallel_option
    if line.gives(EXPERTS) and experts == line.spec.tensor_parallel:
        line.say(EXPERTS, "--enable-expert-parallel")
    elif experts != -1:
        line.leave(EXPERTS, "vLLM spreads experts over all cards of the tensor parallel size.")


def _say_speculation(line: Outgoing) -> None:
    speculator = line.spec.speculator
    drafted = drafted_by(speculator) if speculator else None
    if speculator is None or drafted is None:
        return
    given = {
        "method": "ngram",
        "num_speculative_tokens": drafted,
        "prompt_lookup_max": speculator.lookahead_ngram_size or drafted,
        "prompt_lookup_min": 2,
    }
    more = "" if is_plain(speculator) else " Window and verification sizes have no counterpart."
    line.change(SPECULATOR, ("--speculative-config", json.dumps(given)), REASON + more)


def _say_adapters(line: Outgoing) -> None:
    build = line.spec.engine_build
    shape, places = build.lora_configuration, build.lora_adapters or {}
    if not places and (shape is None or not line.gives(RANK)):
        return
    line.words.append("--enable-lora")
    if places:
        line.words += ["--lora-modules", *(_adapter(name, places[name]) for name in places)]
        line.say(ADAPTERS)
    line.say(RANK, "--max-lora-rank", shape.max_lora_rank if shape else 64)


def _adapter(name: str, place: CheckpointRepository) -> str:
    """Return `name=path`, or JSON where that would be read otherwise."""
    path = model_argument(place)
    is_plain_text = not name.startswith("-") and len(path.split()) == 1 and path == path.strip()
    return f"{name}={path}" if is_plain_text else json.dumps({"name": name, "path": path})


def _say_pooling(line: Outgoing) -> None:
    kind = line.spec.base_model
    if not kind.is_encoder:
        line.say(BASE_MODEL)
        return
    words = ["--runner", "pooling"]
    route = getattr(line.spec.trt_llm.runtime, "webserver_default_route", None)
    if conversion := _CONVERSIONS.get(route or ""):
        words += ["--convert", conversion]
        line.say(ROUTE)
    if kind is BaseModelKind.ENCODER:
        line.say(BASE_MODEL, *words)
    else:
        line.change(BASE_MODEL, words, "vLLM tells the families of encoders apart by itself.")


def _value(spec: Spec, field: str) -> object:
    value: object = spec
    for step in field.split("."):
        value = getattr(value, step)
    return value


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
