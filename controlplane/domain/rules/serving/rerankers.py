"""EH68: language models that rank by an answer, and models that keep a vector for each token."""

from collections.abc import Mapping

from controlplane.domain.facts import sources
from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.encoder_routes import RERANK_ROUTE, ranks_by_token
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import BERT, LLAMA_8B, Config, Example, facts
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import GPU_RUNTIMES, Fix, Patch, Rule, Severity, at
from controlplane.domain.rules.serving.encoders import route
from controlplane.domain.spec.choices import RerankTemplate

_BASE = "trt_llm.build.base_model"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_ROUTE = "trt_llm.runtime.webserver_default_route"
_TEMPLATE = "enginehouse.rerank_template"
_SOURCE = sources.enginehouse("native engine, rerankers")
_OF_CLASS: Mapping[str, RerankTemplate] = {
    "Qwen3ForCausalLM": RerankTemplate.QWEN3,
    "GemmaForCausalLM": RerankTemplate.BGE,
}
"""The classes of the models that were trained with each."""
_RANKED: Config = {_BASE: "encoder", _ROUTE: RERANK_ROUTE}
_QWEN3 = facts(architectures=["Qwen3ForCausalLM"], model_type="qwen3")


def _template(c: Context) -> RerankTemplate | None:
    return c.spec.settings.rerank_template


def _name_template(c: Context) -> Patch:
    template = _OF_CLASS.get(c.checkpoint.architecture or "", RerankTemplate.QWEN3)
    return {_TEMPLATE: template.value}


def _repo(c: Context) -> str:
    return c.spec.checkpoint.repo if c.spec.checkpoint else ""


def _is_called_reranker(c: Context) -> bool:
    """Return whether its files or its name say so: a name is enough for a hint alone."""
    return ranks_by_token(c.checkpoint) or "rerank" in _repo(c).lower()


def _cannot_rank(c: Context) -> bool:
    if not c.spec.base_model.is_encoder:
        return True
    role = c.checkpoint.role
    one_score = role is Role.SEQUENCE_CLASSIFICATION and c.checkpoint.labels == 1
    return not (one_score or role in (Role.CAUSAL, Role.RERANKING)) or c.checkpoint.is_bidirectional


NO_TEMPLATE = Rule(
    code="EH680",
    name="language-model-that-ranks-without-template",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_ROUTE, _REPO),
    concerns=lambda c: c.spec.base_model.is_encoder and route(c) == RERANK_ROUTE,
    when=lambda c: c.checkpoint.role is Role.CAUSAL and _template(c) is None,
    message=lambda c: (
        f"`{c.checkpoint.architecture}` is a language model, and `{RERANK_ROUTE}` wants a score "
        "for a query and a text. Such a model is asked in words and ranks by how likely it "
        f"answers yes: name the words that it was trained with in `{_TEMPLATE}`, `qwen3` "
        "(Qwen3-Reranker) or `bge` (bge-reranker-v2-gemma)."
    ),
    fix=Fix(label="Ask it in the words of its class", patch=_name_template, safe=False),
    source=_SOURCE,
    bad=Example(config=_RANKED, checkpoint=_QWEN3),
    good=Example(config={**_RANKED, _TEMPLATE: "qwen3"}, checkpoint=_QWEN3),
)

NATIVE_ALONE = Rule(
    code="EH681",
    name="language-model-that-ranks-off-native",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_TEMPLATE, _REPO),
    concerns=lambda c: c.spec.base_model.is_encoder,
    when=lambda c: _template(c) is not None or c.checkpoint.role is Role.RERANKING,
    message=lambda c: (
        "A language model that ranks by its answer is asked by the native engine alone. vLLM needs "
        "the checkpoint in the form with a classification head, and there a client writes the "
        "words of each pair itself."
    ),
    otherwise=other_engines,
    source=_SOURCE,
    bad=Example(
        config={
            **_RANKED, _TEMPLATE: "qwen3", "resources.accelerator": "L4",
            "enginehouse.runtime": "vllm",
        },
        checkpoint=_QWEN3,
    ),
    good=Example(
        config={
            **_RANKED, _TEMPLATE: "qwen3", "resources.accelerator": "L4",
            "enginehouse.runtime": "native",
        },
        checkpoint=_QWEN3,
    ),
)  # fmt: skip

NO_PAIR = Rule(
    code="EH682",
    name="rerank-template-that-nothing-reads",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_TEMPLATE, _BASE, _REPO),
    concerns=lambda c: _template(c) is not None,
    when=_cannot_rank,
    message=lambda c: (
        f"`{_TEMPLATE}` is for a language model that ranks, or its form with a classification head "
        f"and one label, as `base_model: encoder`; this is `{c.checkpoint.architecture}` as "
        f"`{c.spec.base_model}`."
    ),
    fix=Fix(label="Remove it", patch=lambda _: {_TEMPLATE: None}, safe=False),
    source=_SOURCE,
    bad=Example(config={_BASE: "encoder_bert", _TEMPLATE: "qwen3"}, checkpoint=BERT),
    good=Example(config={_BASE: "encoder", _TEMPLATE: "qwen3"}, checkpoint=_QWEN3),
)

MULTI_VECTOR = Rule(
    code="EH683",
    name="vector-for-each-token",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: c.checkpoint.role is Role.MULTI_VECTOR,
    message=lambda c: (
        f"`{c.checkpoint.architecture or 'This checkpoint'}` keeps a vector for each token of a "
        "text, to be compared token by token (ColBERT, ColPali). Every route of the hosted "
        "product and of the engines here gives one vector or one score for a text; serve such a "
        "model with the library that made it, or choose an embedder or a reranker."
    ),
    source=_SOURCE,
    bad=Example(
        config={_BASE: "encoder_bert"},
        checkpoint=facts(architectures=["HF_ColBERT"], model_type="bert"),
    ),
    good=Example(checkpoint=LLAMA_8B),
)

TEXT_OF_RERANKER = Rule(
    code="EH684",
    name="reranker-that-is-served-as-text",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=at(_BASE, _REPO),
    concerns=lambda c: not c.spec.base_model.is_encoder,
    when=lambda c: c.checkpoint.role is Role.CAUSAL and _is_called_reranker(c),
    message=lambda c: (
        f"`{_repo(c)}` calls itself a reranker, and `base_model: {c.spec.base_model.value}` serves "
        f"it as a text generator: `/v1/rerank` is not there. To rank, use `base_model: encoder` "
        f"with `webserver_default_route: {RERANK_ROUTE}`."
    ),
    source=sources.engines_overview("Engine selection, reranking"),
    bad=Example(config={_REPO: "/models/a-reranker"}, checkpoint=LLAMA_8B),
    good=Example(checkpoint=LLAMA_8B),
)
