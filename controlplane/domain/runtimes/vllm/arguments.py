"""What an exported line and a started engine say alike: serving, drafts, adapters, pooling."""

import json
from collections.abc import Callable

from controlplane.domain.commands.command_writer import CommandWriter
from controlplane.domain.commands.draft import ADAPTERS
from controlplane.domain.commands.lookahead import REASON, SPECULATOR, drafted_by, is_plain
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.facts.vllm_whole_items import whole_item_tokens
from controlplane.domain.runtimes.vllm.adapters import RANK, rank_for
from controlplane.domain.runtimes.vllm.drafter import (
    MOST_DRAFTED,
    cut_short,
    has_drafter_hook,
    reason,
    speculative_config,
)
from controlplane.domain.runtimes.vllm.engine_keys import DENSE_REASON
from controlplane.domain.runtimes.vllm.own_arguments import own_arguments
from controlplane.domain.runtimes.vllm.parse import (
    BASE_MODEL,
    CHUNKED,
    COUNTS,
    DEFAULT_TOKENS,
    EXPERTS,
    KV_HOST_BYTES,
    ROUTE,
)
from controlplane.domain.spec import CheckpointRepository, Spec
from controlplane.domain.spec.choices import BaseModelKind

FLAGS = {field: f"--{name}" for name, field in COUNTS.items()} | {
    "trt_llm.runtime.max_seq_len": "--max-model-len",
    "trt_llm.runtime.max_batch_size": "--max-num-seqs",
    "trt_llm.runtime.max_num_tokens": "--max-num-batched-tokens",
    "trt_llm.runtime.tensor_parallel_size": "--tensor-parallel-size",
}
"""Limit or size of either stack -> its flag."""
CHUNKED_V2 = "trt_llm.runtime.enable_chunked_prefill"
_CONVERSIONS = {"/v1/embeddings": "embed", "/predict": "classify"}
_HOST_REASON = "vLLM counts GiB over all GPUs together; here it is bytes for each."


def say_host_cache(line: CommandWriter, *, devices: int = 1) -> None:
    if line.gives(KV_HOST_BYTES):
        gib = int(str(value_of(line.spec, KV_HOST_BYTES))) * devices / GIB
        line.change(KV_HOST_BYTES, ("--kv-offloading-size", _number(gib)), _HOST_REASON)


def say_chunked_prefill(line: CommandWriter) -> None:
    for field in (CHUNKED, CHUNKED_V2):
        if line.gives(field):
            on = bool(value_of(line.spec, field))
            line.say(field, f"--{'' if on else 'no-'}enable-chunked-prefill")


def say_default_tokens(line: CommandWriter) -> None:
    if line.gives(DEFAULT_TOKENS):
        given = json.dumps({"max_new_tokens": line.spec.default_max_tokens})
        reason = "vLLM cuts longer answers at it; here it is the length of requests that name none."
        line.change(DEFAULT_TOKENS, ("--override-generation-config", given), reason)


def say_experts(line: CommandWriter, *, has_experts: bool = True) -> None:
    """Add expert parallelism where it spans the GPUs as vLLM's does."""
    experts = line.spec.engine_build.moe_expert_parallel_option
    if not has_experts:
        line.leave(EXPERTS, DENSE_REASON)
    elif line.gives(EXPERTS) and experts == line.spec.tensor_parallel:
        line.say(EXPERTS, "--enable-expert-parallel")
    elif experts != -1:
        line.leave(EXPERTS, "vLLM spreads experts over all GPUs of the tensor parallel size.")


def say_lookahead(line: CommandWriter) -> None:
    """Add n-gram drafts of the same length as the config's lookahead."""
    speculator = line.spec.speculator
    drafted = drafted_by(speculator) if speculator else None
    if speculator is None or drafted is None:
        return
    given = {
        "method": "ngram",
        "num_speculative_tokens": min(drafted, MOST_DRAFTED),
        "prompt_lookup_max": speculator.lookahead_ngram_size or drafted,
        "prompt_lookup_min": min(2, speculator.lookahead_ngram_size or drafted),
    }
    more = "" if is_plain(speculator) else " Window and verification sizes have no counterpart."
    words = ("--speculative-config", json.dumps(given))
    line.change(SPECULATOR, words, REASON + more + cut_short(drafted))


def say_drafter(line: CommandWriter, version: str) -> None:
    """Add our drafter for the config's lookahead, or the n-gram drafts of a version without."""
    if not has_drafter_hook(version):
        say_lookahead(line)
        return
    drafted = drafted_by(line.spec.speculator) if line.spec.speculator else None
    if drafted is not None:
        words = ("--speculative-config", json.dumps(speculative_config(drafted)))
        line.change(SPECULATOR, words, reason(drafted))


def say_adapters(line: CommandWriter, place_of: Callable[[str, CheckpointRepository], str]) -> None:
    """Add the adapters by name and place, and a rank that holds the largest of them."""
    build = line.spec.engine_build
    shape, places = build.lora_configuration, build.lora_adapters or {}
    if not places and (shape is None or not line.gives(RANK)):
        return
    line.words.append("--enable-lora")
    if places:
        named = (_adapter(name, place_of(name, place)) for name, place in places.items())
        line.words += ["--lora-modules", *named]
        line.say(ADAPTERS)
    most_rank = shape.max_lora_rank if shape else 64
    rank = rank_for(most_rank)
    if rank == most_rank:
        line.say(RANK, "--max-lora-rank", rank)
    else:
        line.change(RANK, ("--max-lora-rank", rank), "vLLM takes certain ranks only.")


def adapter_slots(spec: Spec) -> tuple[str, ...]:
    """Return how many adapters may share a step; vLLM has one, and the others' requests wait."""
    named, own = len(spec.engine_build.lora_adapters or {}), own_arguments(spec)
    kept = own.get("max-cpu-loras")
    slots = min(named, spec.max_batch_size, kept if isinstance(kept, int) else named)
    return ("--max-loras", str(slots)) if slots > 1 and own.get("max-loras") is None else ()


def say_pooling(line: CommandWriter) -> None:
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


def step_tokens(spec: Spec, checkpoint: CheckpointFacts) -> int:
    return max(
        spec.max_num_tokens, spec.max_batch_size,
        whole_prompt_tokens(spec, checkpoint), adapted_draft_tokens(spec),
        seen_tokens(spec, checkpoint),
    )  # fmt: skip


def seen_tokens(spec: Spec, checkpoint: CheckpointFacts) -> int:
    """Return the picture or film that one step has to hold; 0 where none is served."""
    is_text_alone = spec.base_model.is_encoder or own_arguments(spec).get("language-model-only")
    return 0 if is_text_alone else whole_item_tokens(checkpoint)


def adapted_draft_tokens(spec: Spec) -> int:
    """Return a token and all drafts of every request, where drafts meet adapters; 0 elsewhere."""
    drafted = drafted_by(spec.speculator) if spec.speculator else None
    build = spec.engine_build
    may_adapt = bool(build.lora_adapters) or build.lora_configuration is not None
    return spec.max_batch_size * (drafted + 1) if drafted and may_adapt else 0


def whole_prompt_tokens(spec: Spec, checkpoint: CheckpointFacts) -> int:
    """Return the prompt that one step has to hold; 0 where prompts enter in pieces."""
    longest = sequence_tokens(spec, checkpoint) or checkpoint.max_input_tokens
    return 0 if chunks(spec) else longest or 0


def sequence_tokens(spec: Spec, checkpoint: CheckpointFacts) -> int | None:
    """Return the length to ask for; an encoder's at most its own, beyond which vLLM ends."""
    tokens = spec.max_seq_len
    if tokens is None or not spec.base_model.is_encoder:
        return tokens
    return min(tokens, checkpoint.max_input_tokens or tokens)


def chunks(spec: Spec) -> bool:
    """Return whether long prompts enter in pieces; under drafts too, which vLLM allows."""
    if spec.base_model.is_encoder:
        return False
    return bool(getattr(spec.trt_llm.runtime, "enable_chunked_context", spec.chunks_prefill))


def value_of(spec: Spec, field: str) -> object:
    value: object = spec
    for step in field.split("."):
        value = getattr(value, step)
    return value


def _adapter(name: str, path: str) -> str:
    """Return `name=path`, or JSON where that would be read otherwise."""
    is_plain_text = not name.startswith("-") and len(path.split()) == 1 and path == path.strip()
    return f"{name}={path}" if is_plain_text else json.dumps({"name": name, "path": path})


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
