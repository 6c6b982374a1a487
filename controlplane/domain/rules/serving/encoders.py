"""EH63: embedders, rerankers and classifiers: which engine, and which routes."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.encoder_routes import RERANK_ROUTE, fitting_routes
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import BERT, Config, Example, facts
from controlplane.domain.rules.rule import (
    GPU_RUNTIMES,
    Fix,
    Patch,
    Rule,
    Severity,
    at,
    on_gpu,
)
from controlplane.domain.spec.choices import BaseModelKind
from controlplane.domain.spec.trt_llm import TrtLlmV1

_BASE = "trt_llm.build.base_model"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_ROUTE = "trt_llm.runtime.webserver_default_route"
_TOKENS = "trt_llm.build.max_num_tokens"
_SELECTION = sources.engines_overview("BEI vs BEI-Bert")
_GUIDE = sources.bei_guide("checkpoint layout")
BERT_ON_L4: Config = {_BASE: "encoder_bert", "resources.accelerator": "L4"}
CAUSAL_ON_L4: Config = {_BASE: "encoder", "resources.accelerator": "L4"}
LLAMA_EMBEDDER = facts(architectures=["LlamaModel"], chat_template=None)
CLASSIFIER = facts(architectures=["LlamaForSequenceClassification"], id2label={"0": "a"})
LARGE_BERT_PARAMETERS = 4_000_000_000
LARGE_EMBEDDER_PARAMETERS = 3_000_000_000
"""From here on the weights alone take an H100 about a millisecond to read in 8 bits."""


def is_bei(c: Context) -> bool:
    return c.spec.base_model is BaseModelKind.ENCODER


def _is_bei_bert(c: Context) -> bool:
    return c.spec.base_model is BaseModelKind.ENCODER_BERT


def is_encoder(c: Context) -> bool:
    return c.spec.base_model.is_encoder


def route(c: Context) -> str | None:
    engine = c.spec.trt_llm
    return engine.runtime.webserver_default_route if isinstance(engine, TrtLlmV1) else None


def _fitting(c: Context) -> tuple[str, ...]:
    return fitting_routes(c.checkpoint)


def _labelled(c: Context) -> str:
    """Return how many labels a classifier has, where that is what rules a route out."""
    of_labels = c.checkpoint.role is Role.SEQUENCE_CLASSIFICATION and route(c) == RERANK_ROUTE
    return f" with {c.checkpoint.labels} labels" if of_labels else ""


def _suits_bei(c: Context) -> bool:
    """Return whether `encoder` serves what the checkpoint does, and pools as it does."""
    if c.checkpoint.role is Role.TOKEN_CLASSIFICATION:
        return False
    return bool(fitting_routes(c.checkpoint)) and not pools_otherwise(c)


def pooling_modes(c: Context) -> tuple[str, ...]:
    return c.checkpoint.pooling.modes if c.checkpoint.pooling else ()


def pools_otherwise(c: Context) -> bool:
    return bool({*pooling_modes(c)} - {"last", "lasttoken", "cls"})


def use_bert(_: Context) -> Patch:
    return {_BASE: "encoder_bert"}


BERT_ON_BEI = Rule(
    code="EH630",
    name="bert-under-bei",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(_BASE, _REPO),
    concerns=on_gpu(is_bei),
    when=lambda c: c.checkpoint.is_bidirectional,
    message=lambda c: (
        f"`{c.checkpoint.architecture}` is bidirectional, and `base_model: encoder` (BEI) is for "
        "causal embedders: `encoder_bert` starts faster. The quantization guide says that BEI "
        "does not support BERT; the selection page names BAAI/bge under BEI, and public examples "
        "build such models with it."
    ),
    fix=Fix(label="Use encoder_bert", patch=use_bert, safe=False),
    source=_SELECTION,
    bad=Example(config=CAUSAL_ON_L4, checkpoint=BERT),
    good=Example(config=BERT_ON_L4, checkpoint=BERT),
)

CAUSAL_ON_BERT = Rule(
    code="EH631",
    name="causal-embedder-under-bei-bert",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=at(_BASE, _REPO),
    concerns=on_gpu(_is_bei_bert),
    when=lambda c: not c.checkpoint.is_bidirectional and _suits_bei(c),
    message=lambda c: (
        f"`{c.checkpoint.architecture}` is read as a causal model, for which `base_model: encoder` "
        "(BEI) has more throughput and FP8. Keep `encoder_bert` for a model that was trained to "
        "look both ways, such as gte-Qwen2."
    ),
    fix=Fix(label="Use encoder", patch=lambda _: {_BASE: "encoder"}, safe=False),
    source=_SELECTION,
    bad=Example(config=BERT_ON_L4, checkpoint=LLAMA_EMBEDDER),
    good=Example(config=CAUSAL_ON_L4, checkpoint=LLAMA_EMBEDDER),
)

LARGE_BERT = Rule(
    code="EH632",
    name="large-model-under-bei-bert",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=at(_BASE),
    concerns=on_gpu(_is_bei_bert),
    when=lambda c: (c.checkpoint.parameters or 0) >= LARGE_BERT_PARAMETERS,
    message=lambda c: (
        f"`encoder_bert` is tuned for models below 4 B parameters, and this one has "
        f"{(c.checkpoint.parameters or 0) / 1e9:.1f} B."
    ),
    source=_SELECTION,
    bad=Example(
        config=BERT_ON_L4, checkpoint=BERT.model_copy(update={"parameters": 7_600_000_000})
    ),
    good=Example(config=BERT_ON_L4, checkpoint=BERT),
)

TOKEN_LABELS = Rule(
    code="EH633",
    name="token-labels-under-bei",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_BASE, _REPO),
    concerns=on_gpu(is_bei),
    when=lambda c: c.checkpoint.role is Role.TOKEN_CLASSIFICATION,
    message=lambda c: (
        f"`{c.checkpoint.architecture}` labels tokens, which `encoder_bert` alone serves."
    ),
    fix=Fix(label="Use encoder_bert", patch=use_bert, safe=True),
    source=sources.bei_guide("named entity recognition"),
    bad=Example(
        config=CAUSAL_ON_L4, checkpoint=facts(architectures=["BertForTokenClassification"])
    ),
    good=Example(config=BERT_ON_L4, checkpoint=facts(architectures=["BertForTokenClassification"])),
)

WRONG_ROUTE = Rule(
    code="EH634",
    name="route-unlike-the-checkpoint",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(_ROUTE),
    concerns=lambda c: is_encoder(c) and route(c) is not None,
    when=lambda c: bool(_fitting(c)) and route(c) not in _fitting(c),
    message=lambda c: (
        f"`webserver_default_route` is `{route(c)}`, and `{c.checkpoint.architecture}`"
        f"{_labelled(c)} answers at "
        + " or ".join(f"`{name}`" for name in _fitting(c))
        + (". Ranking takes a classifier of one label." if _labelled(c) else ".")
    ),
    fix=Fix(
        label="Use the checkpoint's own route", patch=lambda c: {_ROUTE: _fitting(c)[0]}, safe=False
    ),
    source=sources.bei_guide("routes"),
    bad=Example(config={**BERT_ON_L4, _ROUTE: "/predict"}, checkpoint=BERT),
    good=Example(config={**BERT_ON_L4, _ROUTE: "/v1/embeddings"}, checkpoint=BERT),
)

ROUTE_ON_DECODER = Rule(
    code="EH635",
    name="encoder-route-on-decoder",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    fields=at(_ROUTE),
    concerns=lambda c: not is_encoder(c),
    when=lambda c: route(c) is not None,
    message=lambda c: (
        f"`webserver_default_route` (`{route(c)}`) is read for encoders only; a decoder answers at "
        "`/v1/chat/completions` and `/v1/completions`."
    ),
    fix=Fix(label="Remove it", patch=lambda _: {_ROUTE: None}, safe=True),
    source=sources.truss("trt_llm_config.py, v1 runtime"),
    bad=Example(config={"resources.accelerator": "L4", _ROUTE: "/rerank"}),
    good=Example(config={"resources.accelerator": "L4"}),
)
