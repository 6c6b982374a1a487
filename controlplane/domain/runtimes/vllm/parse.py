"""A vLLM command line -> a config and what is to be said of it."""

from collections.abc import Mapping

from controlplane.domain.commands.checkpoints import (
    ask_checkpoint,
    carry_checkpoint,
    carry_revision,
)
from controlplane.domain.commands.command_context import (
    PIPELINE_PARALLEL,
    TENSOR_PARALLEL,
    ask_accelerator,
)
from controlplane.domain.commands.draft import Draft
from controlplane.domain.commands.invocation import CommandContext, Invocation
from controlplane.domain.commands.lookahead import SPECULATOR
from controlplane.domain.commands.numbers import clean, fraction, json_value, whole_number
from controlplane.domain.commands.options import (
    Arguments,
    Option,
    no_number,
    options_of,
    read_options,
)
from controlplane.domain.commands.report import Choice
from controlplane.domain.commands.secrets import CommandSecrets, is_secret_variable
from controlplane.domain.commands.yaml_file import read_settings
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.runtimes.vllm.adapters import carry_adapters
from controlplane.domain.runtimes.vllm.engine_options import PATCH, read_engine_options
from controlplane.domain.runtimes.vllm.flag_reasons import REASONS
from controlplane.domain.runtimes.vllm.flags import GRAMMAR, READ
from controlplane.domain.runtimes.vllm.own_options import carry_own
from controlplane.domain.runtimes.vllm.precision import carry_precision, held_cache
from controlplane.domain.runtimes.vllm.speculation import carry_speculation, held_drafts
from controlplane.domain.runtimes.vllm.stacks import settle_stack

KV_FRACTION = "trt_llm.runtime.kv_cache_free_gpu_mem_fraction"
KV_HOST_BYTES = "trt_llm.runtime.kv_cache_host_memory_bytes"
CHUNKED = "trt_llm.runtime.enable_chunked_context"
SERVED_NAME = "trt_llm.runtime.served_model_name"
DEFAULT_TOKENS = "trt_llm.runtime.request_default_max_tokens"
EXPERTS = "trt_llm.build.moe_expert_parallel_option"
EXPERTS_V2 = f"{PATCH}.moe_expert_parallel_size"
BASE_MODEL = "trt_llm.build.base_model"
ROUTE = "trt_llm.runtime.webserver_default_route"
COUNTS: Mapping[str, str] = {
    "max-model-len": "trt_llm.build.max_seq_len",
    "max-num-seqs": "trt_llm.build.max_batch_size",
    "max-num-batched-tokens": "trt_llm.build.max_num_tokens",
    "tensor-parallel-size": TENSOR_PARALLEL,
    "pipeline-parallel-size": PIPELINE_PARALLEL,
}
KV_FRACTION_REASON = (
    "vLLM takes this share of the whole GPU for weights, activations and KV cache together; here "
    "it is the share of what is left free after weights and activations that the KV cache takes."
)
_KV_HOST_REASON = "vLLM counts GiB over all GPUs together; here it is bytes for each."
_DEFAULT_TOKENS_REASON = (
    "vLLM cuts longer answers at it; here it is the length of requests that name none."
)
_EXPERTS_REASON = "vLLM spreads whole experts over all GPUs, which is the tensor parallel size."
_DATA_RANKS = "data-parallel-size"
_DATA_RANKS_REASON = (
    "With expert parallelism this is one model over tensor × data parallel ranks, not copies. vLLM "
    "gives each data parallel rank the attention whole; here it is divided over all of them."
)
_POOLING = {"embed": "/v1/embeddings", "embedding": "/v1/embeddings", "classify": "/predict",
            "score": None, "reward": None, "pooling": None}  # fmt: skip
_ON_ONE = "An encoder runs on one GPU."
_NOT_OF_ENCODERS: Mapping[str, str] = {
    CHUNKED: "An encoder reads an input in one step.",
    TENSOR_PARALLEL: _ON_ONE,
    PIPELINE_PARALLEL: _ON_ONE,
    EXPERTS: _ON_ONE,
    DEFAULT_TOKENS: "An encoder writes no answers.",
    SPECULATOR: "An encoder writes no answers.",
}
_SPECULATION = ("speculative-config", "speculative-model", "num-speculative-tokens",
                "spec-method", "spec-model", "spec-tokens")  # fmt: skip


def read(invocation: Invocation) -> tuple[Arguments, CommandSecrets]:
    """Return the options of the line, config files included, and the secrets among them."""
    arguments = read_options(invocation.arguments, GRAMMAR)
    options = (*_from_files(arguments, invocation.context), *arguments.options)
    secrets = CommandSecrets()
    kept = tuple(option for option in options if not _take_secret(option, secrets))
    parsed = Arguments(options=kept, positionals=arguments.positionals, rest=arguments.rest)
    return parsed, secrets


def parse(
    draft: Draft, arguments: Arguments, context: CommandContext, secrets: CommandSecrets
) -> None:
    options = {option.name: option for option in arguments.options}
    draft.fields |= {BASE_MODEL: "decoder"}
    _carry_model(draft, arguments, options, context, secrets)
    for name, field in COUNTS.items():
        _carry_count(draft, options.get(name), field)
    weights, cache = options.get("quantization"), options.get("kv-cache-dtype")
    lone_cache = held_cache(weights, cache)
    carry_precision(draft, weights, None if lone_cache else cache)
    _carry_memory(draft, options)
    _carry_serving(draft, options)
    speculation = [option for option in arguments.options if option.name in _SPECULATION]
    own_drafts = held_drafts(speculation)
    carry_speculation(draft, [] if own_drafts else speculation)
    carry_adapters(draft, options, context)
    _carry_pooling(draft, options)
    results = (*lone_cache, *own_drafts, *read_engine_options(arguments.options))
    settle_stack(draft, results, arguments.options)
    draft.carry("vllm serve", "enginehouse.runtime", "vllm")
    _leave_others(draft, arguments, context)
    ask_accelerator(draft, context)


def _from_files(arguments: Arguments, context: CommandContext) -> tuple[Option, ...]:
    """Return what `--config FILE` says, where the pasted text writes that file itself."""
    for option in arguments.options:
        if option.name == "config" and (text := context.files.get(clean(option.value))):
            return options_of(read_settings(text), GRAMMAR)
    return ()


def _take_secret(option: Option, secrets: CommandSecrets) -> bool:
    if option.name == "api-key":
        for word in option.values:
            secrets.caller_key(option.flag, word)
        return True
    if option.name == "hf-token":
        secrets.hub_token(option.flag, option.value)
        return True
    known = option.name in READ or option.name in REASONS
    if not known and option.values and is_secret_variable(option.name):
        secrets.other(option.name, option.flag, option.value)
        return True
    return False


def _carry_model(
    draft: Draft,
    arguments: Arguments,
    options: Mapping[str, Option],
    context: CommandContext,
    secrets: CommandSecrets,
) -> None:
    named = options.get("model") or options.get("model-tag")
    if named and named.values:
        carry_checkpoint(draft, named.flag, named.value, context, secrets)
        unused = arguments.positionals
    elif arguments.positionals:
        carry_checkpoint(draft, "", arguments.positionals[0], context, secrets)
        unused = arguments.positionals[1:]
    else:
        ask_checkpoint(draft, None, "The line names no model.")
        unused = ()
    for word in unused:
        draft.leave(word.text, "It belongs to no flag.")
    carry_revision(draft, options.get("revision"))


def _carry_count(draft: Draft, option: Option | None, field: str) -> None:
    if option is None:
        return
    text = clean(option.value)
    value = whole_number(text)
    if value is not None:
        draft.carry(option.text, field, value)
        draft.note_origin(option.flag, option.value, field)
    elif option.value.unknown:
        draft.ask(option.text, field, f"Which value? `{text}` is set outside of what was pasted.")
    elif text in ("auto", "-1"):
        name = field.rsplit(".", 1)[-1]
        draft.leave(option.text, f"Without `{name}` the model's own limit holds.")
    else:
        draft.leave(option.text, no_number(option))


def _carry_memory(draft: Draft, options: Mapping[str, Option]) -> None:
    for name, field, reason, factor in (
        ("gpu-memory-utilization", KV_FRACTION, KV_FRACTION_REASON, None),
        ("kv-offloading-size", KV_HOST_BYTES, _KV_HOST_REASON, GIB),
    ):
        option = options.get(name)
        if option is None:
            continue
        value = fraction(clean(option.value))
        if value is None and option.value.unknown:
            text = clean(option.value)
            draft.ask(option.text, field, f"Which value? `{text}` is set elsewhere. {reason}")
        elif value is None:
            draft.leave(option.text, no_number(option))
        else:
            scaled = value if factor is None else round(value * factor)
            draft.change(option.text, field, scaled, reason)
            draft.note_origin(option.flag, option.value, field)


def _carry_serving(draft: Draft, options: Mapping[str, Option]) -> None:
    if chunked := options.get("enable-chunked-prefill"):
        draft.carry(chunked.text, CHUNKED, chunked.is_on)
    if whole := options.get("disable-chunked-prefill"):
        draft.carry(whole.text, CHUNKED, not whole.is_on)
    if name := options.get("served-model-name"):
        _carry_name(draft, name)
    if (experts := options.get("enable-expert-parallel")) and experts.is_on:
        _divide_over_data_ranks(draft, options)
        size = draft.fields.get(TENSOR_PARALLEL, 1)
        draft.change(experts.text, EXPERTS, size, _EXPERTS_REASON)
    elif experts:
        draft.leave(experts.text, "It is off without the flag, here too.")
    if generation := options.get("override-generation-config"):
        _carry_default_tokens(draft, generation)


def _divide_over_data_ranks(draft: Draft, options: Mapping[str, Option]) -> None:
    """With expert parallelism, data parallel ranks share one model's experts."""
    given = [options[name] for name in ("tensor-parallel-size", _DATA_RANKS) if name in options]
    ranks = whole_number(clean(given[-1].value)) if _DATA_RANKS in options else None
    if ranks is not None:
        flag = " ".join(option.text for option in given)
        size = draft.fields.get(TENSOR_PARALLEL, 1)
        draft.change(flag, TENSOR_PARALLEL, size * ranks, _DATA_RANKS_REASON)


def _carry_name(draft: Draft, option: Option) -> None:
    names = [clean(word) for word in option.values if not word.unknown and clean(word)]
    if not names:
        draft.ask(option.text, SERVED_NAME, "Which name? It is set outside of what was pasted.")
        return
    draft.carry(f"{option.flag} {names[0]}", SERVED_NAME, names[0])
    draft.note_origin(option.flag, option.values[0], SERVED_NAME)
    if names[1:]:
        draft.leave(
            f"{option.flag} … {' '.join(names[1:])}",
            "A config serves one name; the endpoint takes any string as `model`.",
        )


def _carry_default_tokens(draft: Draft, option: Option) -> None:
    if option.path:
        value = whole_number(clean(option.value)) if option.path[-1] == "max_new_tokens" else None
    else:
        given = json_value(clean(option.value))
        value = given.get("max_new_tokens") if isinstance(given, Mapping) else None
    if isinstance(value, int) and not isinstance(value, bool):
        draft.change(option.text, DEFAULT_TOKENS, value, _DEFAULT_TOKENS_REASON)
    elif reason := carry_own(draft, option):
        draft.leave(option.text, reason)


def _carry_pooling(draft: Draft, options: Mapping[str, Option]) -> None:
    """Set an encoder for the tasks that return no text."""
    flags = [options[name] for name in ("task", "runner", "convert") if name in options]
    pooling = [option for option in flags if clean(option.value).lower() in _POOLING]
    for option in flags:
        if option not in pooling:
            draft.leave(option.text, "Text generation is what a config means without it.")
    if not pooling:
        return
    flag = " ".join(option.text for option in pooling)
    draft.carry(flag, BASE_MODEL, "encoder")
    for field, reason in _NOT_OF_ENCODERS.items():
        draft.give_up(field, reason)
    draft.ask(
        flag,
        BASE_MODEL,
        "`encoder` serves causal architectures, `encoder_bert` those of the BERT family. Which?",
        [Choice(label=kind, patch={BASE_MODEL: kind}) for kind in ("encoder", "encoder_bert")],
    )
    routes = [_POOLING[clean(option.value).lower()] for option in pooling]
    if route := next((route for route in reversed(routes) if route), None):
        draft.carry(flag, ROUTE, route)


def _divides_one_model(draft: Draft, option: Option) -> bool:
    return EXPERTS_V2 in draft.fields or (
        EXPERTS in draft.fields and whole_number(clean(option.value)) is not None
    )


def _leave_others(draft: Draft, arguments: Arguments, context: CommandContext) -> None:
    for option in arguments.options:
        if option.name == "config":
            if clean(option.value) not in context.files:
                draft.leave(option.text, "The file is not here; paste its content instead.")
        elif option.name == _DATA_RANKS and _divides_one_model(draft, option):
            continue
        elif option.name not in READ and (reason := carry_own(draft, option)):
            draft.leave(option.text, REASONS.get(option.name, reason))
    if arguments.rest:
        text = " ".join(word.text for word in arguments.rest)
        draft.leave(f"-- {text}", "What follows `--` belongs to another program.")
