"""EH6: lengths, prefill, chat, and what the runtime can do."""

from collections.abc import Iterator

from controlplane.domain.facts import sources
from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.encoder_routes import RERANK_ROUTE
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import SMOLLM2_135M, Example, facts, on_trtllm
from controlplane.domain.rules.rule import TRTLLM, Fix, Patch, Rule, Severity, at, generates, limit
from controlplane.domain.rules.serving.encoders import route
from controlplane.domain.spec.engine_runtime import RuntimeV1, RuntimeV2
from controlplane.domain.spec.trt_llm import TrtLlmV1

_PLUGINS = "trt_llm.build.plugin_configuration"
_PAGED = f"{_PLUGINS}.paged_kv_cache"
_PAGED_CONTEXT = f"{_PLUGINS}.use_paged_context_fmha"
_CHUNKED = "trt_llm.runtime.enable_chunked_context"
_DEFAULT_TOKENS = "trt_llm.runtime.request_default_max_tokens"
_SEQUENCE = "trt_llm.build.max_seq_len"
_TOKENS = "trt_llm.build.max_num_tokens"
_ACCELERATOR = "resources.accelerator"
_BASE = "trt_llm.build.base_model"
_STACK = "trt_llm.inference_stack"
_OF_V2 = tuple(
    f"trt_llm.runtime.{name}"
    for name in (*RuntimeV2.model_fields, "gated_features")
    if name not in RuntimeV1.model_fields
)


def _is_v1_decoder(c: Context) -> bool:
    return generates(c) and not c.spec.is_v2


def _most_tokens(c: Context) -> int | None:
    return c.checkpoint.max_positions if generates(c) else c.checkpoint.max_input_tokens


def is_beyond_model(c: Context) -> bool:
    tokens, most = c.spec.max_seq_len, _most_tokens(c)
    return tokens is not None and most is not None and tokens > most


def _chunks_by_request(c: Context) -> bool:
    engine = c.spec.trt_llm
    return isinstance(engine, TrtLlmV1) and engine.runtime.enable_chunked_context


def _chunks(c: Context) -> Iterator[Fix]:
    if c.spec.speculator is None:
        patch = {c.spec.chunked_prefill_path: True}
        yield Fix(label="Turn chunked prefill on", patch=lambda _: patch, safe=True)


def _as_encoder(c: Context) -> Patch:
    is_bert = c.checkpoint.is_bidirectional or c.checkpoint.role is Role.TOKEN_CLASSIFICATION
    patch: dict[str, object] = {_BASE: "encoder_bert" if is_bert else "encoder"}
    if c.spec.is_v2:
        patch = {_STACK: None, **dict.fromkeys(_OF_V2), **patch}
    elif c.spec.speculator is not None:
        patch["trt_llm.build.speculator"] = None
    return patch


BEYOND_MODEL = Rule(
    code="EH601",
    name="sequence-longer-than-the-model-knows",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=limit("max_seq_len"),
    concerns=lambda c: c.spec.max_seq_len is not None,
    when=is_beyond_model,
    message=lambda c: (
        f"`max_seq_len` is {c.spec.max_seq_len:,}, and the model knows "
        f"{c.checkpoint.max_positions:,} positions; beyond them its answers lose their sense."
        if generates(c)
        else f"`max_seq_len` is {c.spec.max_seq_len:,}, and the model reads {_most_tokens(c):,} "
        "tokens of an input: longer ones are refused, or cut where a request asks for that."
    ),
    fix=Fix(
        label="Use the model's own limit",
        patch=lambda c: {f"{c.spec.limits_path}.max_seq_len": _most_tokens(c)},
        safe=False,
    ),
    source=sources.truss("checkpoint layout, max_position_embeddings"),
    bad=Example(config={_SEQUENCE: 16_384}),
    good=Example(config={_SEQUENCE: 8192}),
)

PROMPTS_REFUSED = Rule(
    code="EH602",
    name="prompts-beyond-one-step",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    fields=limit("max_num_tokens", _SEQUENCE),
    concerns=lambda c: generates(c) and not c.spec.chunks_prefill,
    when=lambda c: c.spec.max_num_tokens < (c.spec.max_seq_len or 0),
    message=lambda c: (
        f"Without chunked prefill{' (lookahead turns it off)' if c.spec.speculator else ''} a "
        f"prompt must fit into one step of {c.spec.max_num_tokens:,} tokens, so prompts that "
        f"`max_seq_len` {c.spec.max_seq_len or 0:,} promises are refused."
    ),
    fix=Fix(
        label="Let one step take the longest prompt",
        patch=lambda c: {f"{c.spec.limits_path}.max_num_tokens": c.spec.max_seq_len},
        safe=True,
    ),
    otherwise=_chunks,
    source=sources.tensorrt_llm("sum of prompt and query length against max_num_tokens"),
    bad=on_trtllm(
        Example(
            config={
                _ACCELERATOR: "L4",
                _CHUNKED: False,
                _TOKENS: 1024,
            }
        )
    ),
    good=on_trtllm(Example(config={_ACCELERATOR: "L4", _CHUNKED: True, _TOKENS: 1024})),
)

CONTEXT_WITHOUT_PAGES = Rule(
    code="EH603",
    name="paged-context-without-paged-cache",
    severity=Severity.ERROR,
    fields=at(_PAGED_CONTEXT, _PAGED),
    concerns=_is_v1_decoder,
    when=lambda c: (
        c.spec.engine_build.plugin_configuration.use_paged_context_fmha
        and not c.spec.engine_build.plugin_configuration.paged_kv_cache
    ),
    message=lambda _: "`use_paged_context_fmha` is on, and it works on a paged KV cache only.",
    fix=Fix(label="Turn the paged KV cache on", patch=lambda _: {_PAGED: True}, safe=True),
    source=sources.truss("trt_llm_config.py, plugin configuration"),
    bad=Example(config={_PAGED: False}),
    good=Example(config={_PAGED: True}),
)

CHUNKS_WITHOUT_PAGES = Rule(
    code="EH604",
    name="chunked-context-without-paged-attention",
    severity=Severity.ERROR,
    fields=at(_CHUNKED, _PAGED_CONTEXT),
    concerns=_is_v1_decoder,
    when=lambda c: (
        _chunks_by_request(c)
        and not (
            c.spec.engine_build.plugin_configuration.use_paged_context_fmha
            and c.spec.engine_build.plugin_configuration.paged_kv_cache
        )
    ),
    message=lambda _: (
        "`enable_chunked_context` is on, and it needs both `paged_kv_cache` and "
        "`use_paged_context_fmha`."
    ),
    fix=Fix(label="Turn both on", patch=lambda _: {_PAGED: True, _PAGED_CONTEXT: True}, safe=True),
    source=sources.truss("trt_llm_config.py, chunked context"),
    bad=Example(config={_PAGED_CONTEXT: False}),
    good=Example(config={_PAGED_CONTEXT: False, _CHUNKED: False}),
)

NO_CHAT_TEMPLATE = Rule(
    code="EH605",
    name="decoder-without-chat-template",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at("trt_llm.build.checkpoint_repository.repo"),
    concerns=generates,
    when=lambda c: c.checkpoint.has_chat_template is False,
    message=lambda c: (
        f"`{c.spec.checkpoint.repo if c.spec.checkpoint else ''}` has no chat template: "
        "`/v1/chat/completions` will answer 400. Use `/v1/completions`, or add "
        "`chat_template.jinja` to the checkpoint."
    ),
    source=sources.truss("checkpoint layout, chat_template"),
    bad=Example(checkpoint=facts(chat_template=False)),
    good=Example(),
)

DEFAULT_BEYOND_SEQUENCE = Rule(
    code="EH606",
    name="default-answer-longer-than-a-sequence",
    severity=Severity.WARNING,
    fields=at(_DEFAULT_TOKENS, _SEQUENCE),
    when=lambda c: (c.spec.default_max_tokens or 0) > (c.spec.max_seq_len or 2**31),
    message=lambda c: (
        f"`request_default_max_tokens` is {c.spec.default_max_tokens or 0:,}, more than a whole "
        f"sequence of {c.spec.max_seq_len or 0:,} tokens; answers end at the sequence's limit."
    ),
    fix=Fix(
        label="Use the sequence's limit",
        patch=lambda c: {_DEFAULT_TOKENS: c.spec.max_seq_len},
        safe=True,
    ),
    source=sources.truss("trt_llm_config.py, v1 runtime"),
    bad=Example(config={_DEFAULT_TOKENS: 8192}),
    good=Example(config={_DEFAULT_TOKENS: 1024}),
)

ENCODER_AS_DECODER = Rule(
    code="EH607",
    name="encoder-checkpoint-as-decoder",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at("trt_llm.build.base_model", "trt_llm.build.checkpoint_repository.repo"),
    concerns=generates,
    when=lambda c: (
        c.checkpoint.role
        in (Role.SEQUENCE_CLASSIFICATION, Role.TOKEN_CLASSIFICATION, Role.RERANKING)
        or c.checkpoint.role is Role.EMBEDDING
    ),
    message=lambda c: (
        f"`{c.checkpoint.architecture}` does not generate text, and `base_model` is "
        f"`{c.spec.base_model}`."
    ),
    fix=Fix(label="Serve it as an encoder", patch=_as_encoder, safe=False),
    source=sources.engines_overview("Engine selection"),
    bad=Example(checkpoint=facts(architectures=["BertModel"], model_type="bert")),
    good=Example(),
)


def _ranks(c: Context) -> bool:
    return c.spec.settings.rerank_template is not None or route(c) == RERANK_ROUTE


DECODER_AS_ENCODER = Rule(
    code="EH608",
    name="text-generator-as-encoder",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at("trt_llm.build.base_model", "trt_llm.build.checkpoint_repository.repo"),
    concerns=lambda c: c.spec.base_model.is_encoder,
    when=lambda c: c.checkpoint.role is Role.CAUSAL and not _ranks(c),
    message=lambda c: (
        f"`{c.checkpoint.architecture}` generates text; `base_model: {c.spec.base_model}` makes "
        "embeddings of it, which is right only for a checkpoint that was trained for them; a "
        "reranker kept so has to be converted to one label first."
    ),
    fix=Fix(
        label="Serve it as a decoder",
        patch=lambda _: {"trt_llm.build.base_model": "decoder"},
        safe=False,
    ),
    source=sources.engines_overview("Engine selection"),
    bad=Example(
        config={"trt_llm.build.base_model": "encoder", _ACCELERATOR: "L4"},
        checkpoint=SMOLLM2_135M,
    ),
    good=Example(
        config={"trt_llm.build.base_model": "encoder", _ACCELERATOR: "L4"},
        checkpoint=facts(architectures=["LlamaModel"]),
    ),
)

EXPERTS_ON_V1 = Rule(
    code="EH609",
    name="mixture-of-experts-on-v1",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at("trt_llm.inference_stack"),
    concerns=_is_v1_decoder,
    when=lambda c: bool(c.checkpoint.experts) and c.checkpoint.model_type != "qwen3_moe",
    message=lambda c: (
        f"`{c.checkpoint.architecture}` has {c.checkpoint.experts} experts; the v1 stack is for "
        "dense models (Qwen3 MoE apart), and `inference_stack: v2` serves mixtures of experts."
    ),
    source=sources.engines_overview("Engine selection"),
    bad=on_trtllm(
        Example(
            config={_ACCELERATOR: "H100"},
            checkpoint=facts(
                architectures=["MixtralForCausalLM"], model_type="mixtral", num_local_experts=8
            ),
        )
    ),
    good=on_trtllm(Example(config={_ACCELERATOR: "H100"})),
)
