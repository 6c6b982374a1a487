"""EH63: what the files of an encoder's checkpoint say: pooling, labels, the longest input."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.pooling import Pooling
from controlplane.domain.memory import plan
from controlplane.domain.memory.changes import patched
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import BERT, Example, facts
from controlplane.domain.rules.rule import NATIVE, Fix, Rule, Severity, at, on_gpu
from controlplane.domain.rules.serving.encoders import (
    BERT_ON_L4,
    CAUSAL_ON_L4,
    CLASSIFIER,
    LLAMA_EMBEDDER,
    is_bei,
    is_encoder,
    pooling_modes,
    pools_otherwise,
    use_bert,
)

_BASE = "trt_llm.build.base_model"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_TOKENS = "trt_llm.build.max_num_tokens"
_GUIDE = sources.bei_guide("checkpoint layout")


def _pooled(mode: str) -> CheckpointFacts:
    pooling = Pooling(has_modules=True, has_pooling=True, modes=(mode,))
    return LLAMA_EMBEDDER.model_copy(update={"pooling": pooling})


def _missing_pooling(c: Context) -> tuple[str, ...]:
    pooling = c.checkpoint.pooling
    return pooling.missing if pooling else ("modules.json", "1_Pooling/config.json")


def _longest(c: Context) -> int:
    return c.checkpoint.max_input_tokens or 0


def _holds_longest(c: Context) -> bool:
    if c.device is None:
        return True
    try:
        whole = plan(patched(c.spec, {_TOKENS: _longest(c)}), c.checkpoint, c.device, c.memory)
    except ValueError:
        return False
    return whole.verdict != "does_not_fit"


POOLING_FILES = Rule(
    code="EH636",
    name="embedder-without-pooling-files",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_REPO),
    concerns=is_encoder,
    when=lambda c: (
        c.checkpoint.role is Role.EMBEDDING
        and not (c.checkpoint.architecture or "").endswith("ForMaskedLM")
        and bool(c.checkpoint.files)
        and bool(_missing_pooling(c))
    ),
    message=lambda c: (
        "An embedder says in files how it makes one vector of many, and this checkpoint lacks "
        + " and ".join(f"`{name}`" for name in _missing_pooling(c))
        + ": the build fails on them. Add them as the sentence-transformers library writes them."
    ),
    source=_GUIDE,
    bad=Example(
        config=BERT_ON_L4,
        checkpoint=BERT.model_copy(update={"files": ("config.json", "model.safetensors")}),
    ),
    good=Example(config=BERT_ON_L4, checkpoint=BERT),
)

POOLING_MODE = Rule(
    code="EH637",
    name="mean-pooling-under-bei",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(_BASE, _REPO),
    concerns=on_gpu(is_bei),
    when=pools_otherwise,
    message=lambda c: (
        f"The checkpoint pools by `{'`, `'.join(pooling_modes(c))}`; `encoder` (BEI) takes the "
        "first or the last token, and `encoder_bert` also the mean."
    ),
    fix=Fix(label="Use encoder_bert", patch=use_bert, safe=False),
    source=sources.bei_guide("pooling"),
    bad=Example(config=CAUSAL_ON_L4, checkpoint=_pooled("mean")),
    good=Example(config=CAUSAL_ON_L4, checkpoint=_pooled("last")),
)

NO_LABELS = Rule(
    code="EH638",
    name="classifier-without-labels",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(_REPO),
    concerns=is_encoder,
    when=lambda c: (
        c.checkpoint.role in (Role.SEQUENCE_CLASSIFICATION, Role.TOKEN_CLASSIFICATION)
        and not c.checkpoint.labels
    ),
    message=lambda c: (
        f"`{c.checkpoint.architecture}` needs `id2label` in its `config.json`, one name for each "
        "output; without it the answers have no names."
    ),
    source=_GUIDE,
    bad=Example(
        config=CAUSAL_ON_L4, checkpoint=facts(architectures=["LlamaForSequenceClassification"])
    ),
    good=Example(config=CAUSAL_ON_L4, checkpoint=CLASSIFIER),
)

SHORT_STEP = Rule(
    code="EH639",
    name="encoder-step-shorter-than-its-inputs",
    severity=Severity.WARNING,
    runtimes=NATIVE,
    needs=("checkpoint",),
    fields=at(_TOKENS),
    concerns=is_encoder,
    when=lambda c: c.spec.max_num_tokens < _longest(c),
    message=lambda c: (
        f"An encoder reads an input in one step of {c.spec.max_num_tokens:,} tokens, and the model "
        f"takes {_longest(c):,}: longer inputs are refused."
    ),
    fix=Fix(
        label="Let one step take the longest input",
        patch=lambda c: {_TOKENS: _longest(c)} if _holds_longest(c) else None,
        safe=True,
    ),
    source=sources.bei_guide("max_num_tokens"),
    bad=Example(config={**BERT_ON_L4, _TOKENS: 256}, checkpoint=BERT),
    good=Example(config={**BERT_ON_L4, _TOKENS: 8192}, checkpoint=BERT),
)
