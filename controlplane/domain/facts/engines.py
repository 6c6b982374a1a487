"""Architecture -> the engine that takes it, with the reason in words."""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.facts.architectures import (
    ENGINE_BUILDER,
    RECURRENT_MODEL_TYPES,
    Role,
)
from controlplane.domain.facts.sources import Source, engine_builder_overview, engines_overview

LARGE_MODEL_PARAMETERS = 700_000_000_000
"""From here on the selection table names the large-model engine, dense or not."""
EXPERTS_ON_ENGINE_BUILDER = frozenset({"Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM"})
TEXT_OF_WRAPPER = frozenset({"Gemma3ForConditionalGeneration"})
"""Named by the v1 engine's own page, which serves their text only."""


class Engine(StrEnum):
    """The hosted product's engines, by the names its pages use."""

    ENGINE_BUILDER_LLM = "Engine-Builder-LLM"
    BEI = "BEI"
    BEI_BERT = "BEI-Bert"
    BIS_LLM = "BIS-LLM"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    engine: Engine
    reason: str
    source: Source
    stack: str | None = None
    """`v1` or `v2`; None where no engine takes the model."""
    base_model: str | None = None
    """`decoder`, `encoder` or `encoder_bert`; absent in the v2 stack."""


def engine_for(
    *,
    architecture: str | None,
    model_type: str | None,
    is_bidirectional: bool,
    role: Role,
    experts: int | None,
    parameters: int | None,
) -> EngineChoice:
    name = architecture or "a checkpoint without `architectures`"
    match role:
        case Role.SPEECH | Role.IMAGE_GENERATION | Role.MULTI_VECTOR | Role.UNKNOWN:
            return _none(name, role)
        case Role.TOKEN_CLASSIFICATION:
            return _bert(f"`{name}` labels tokens, which BEI-Bert alone serves.")
        case Role.EMBEDDING | Role.SEQUENCE_CLASSIFICATION | Role.RERANKING:
            return _encoder(name, is_bidirectional)
        case Role.MULTIMODAL if name not in TEXT_OF_WRAPPER:
            return _large(f"`{name}` takes images or sound, which BIS-LLM alone serves.")
    return _generator(name, model_type, experts, parameters)


def _generator(
    name: str, model_type: str | None, experts: int | None, parameters: int | None
) -> EngineChoice:
    if (parameters or 0) >= LARGE_MODEL_PARAMETERS:
        return _large(f"`{name}` has {(parameters or 0) / 1e9:,.0f} billion parameters.")
    if (experts or 0) > 1:
        also = name in EXPERTS_ON_ENGINE_BUILDER
        return _large(
            f"`{name}` is a mixture of {experts} experts."
            + (" Engine-Builder-LLM takes this one family too." if also else "")
        )
    if model_type in RECURRENT_MODEL_TYPES:
        return _large(f"`{name}` has layers that keep a state: the v1 engine has none of those.")
    if name in ENGINE_BUILDER or name in TEXT_OF_WRAPPER:
        text = " Only its text part is served." if name in TEXT_OF_WRAPPER else ""
        reason = f"`{name}` is a dense language model of a family that the engine names.{text}"
    else:
        reason = f"`{name}` is a dense language model; the engine does not name it, so it is tried."
    return EngineChoice(
        engine=Engine.ENGINE_BUILDER_LLM, reason=reason, stack="v1", base_model="decoder",
        source=engine_builder_overview("Supported model types"),
    )  # fmt: skip


def _encoder(name: str, is_bidirectional: bool) -> EngineChoice:
    if is_bidirectional:
        return _bert(f"`{name}` is bidirectional: its tokens see what comes after them.")
    return EngineChoice(
        engine=Engine.BEI, stack="v1", base_model="encoder", source=_TABLE,
        reason=f"`{name}` is a causal model that embeds, ranks or classifies.",
    )  # fmt: skip


def _bert(reason: str) -> EngineChoice:
    return EngineChoice(
        engine=Engine.BEI_BERT, stack="v1", base_model="encoder_bert", source=_TABLE, reason=reason
    )


def _large(reason: str) -> EngineChoice:
    return EngineChoice(engine=Engine.BIS_LLM, stack="v2", source=_TABLE, reason=reason)


def _none(name: str, role: Role) -> EngineChoice:
    does = {
        Role.SPEECH: "turns speech into text or text into speech",
        Role.IMAGE_GENERATION: "makes images",
        Role.MULTI_VECTOR: "makes a vector for each token of a text",
    }.get(role, "is of a kind that none of the four engines names")
    return EngineChoice(
        engine=Engine.NONE, source=_SPECIALIZED,
        reason=f"`{name}` {does}; such models are deployed as specialized servers.",
    )  # fmt: skip


_TABLE = engines_overview("Engine selection")
_SPECIALIZED = engines_overview("Specialized deployments")
