"""What drafting costs a plan: tokens kept beside the accepted ones, and prediction layers."""

from dataclasses import dataclass

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.spec import Spec
from controlplane.domain.spec.trt_llm import TrtLlmV2

_DRAFTS_UNSAID = 8
"""Tokens drafted where a config switches drafting on and names no length."""


@dataclass(frozen=True, kw_only=True)
class Drafting:
    """How many tokens each request drafts per step; 0 without drafting."""

    tokens: int = 0
    uses_prediction_layers: bool = False

    @property
    def extra_tokens(self) -> int:
        return self.tokens + 1 if self.tokens else 0


def drafting_of(spec: Spec) -> Drafting:
    speculator = spec.speculator
    if isinstance(spec.trt_llm, TrtLlmV2):
        return _from_engine_arguments(spec.trt_llm)
    if speculator is None or spec.base_model.is_encoder:
        return Drafting()
    length = speculator.draft_length or speculator.num_draft_tokens or _DRAFTS_UNSAID
    return Drafting(tokens=length)


def _from_engine_arguments(engine: TrtLlmV2) -> Drafting:
    config = engine.runtime.patch_kwargs.get("speculative_config")
    if not isinstance(config, dict):
        return Drafting()
    layers = numbers.whole(config.get("num_nextn_predict_layers"))
    kind = str(config.get("decoding_type", "")).lower()
    return Drafting(
        tokens=numbers.whole(config.get("max_draft_len")) or layers or _DRAFTS_UNSAID,
        uses_prediction_layers=kind == "mtp",
    )
