"""Encoders that vLLM neither has a class of nor runs by its backend for others.

A class of the forms below is one of its registry, one whose family generates text (vLLM converts
those), or one of transformers.

Source: what `models/registry.py` of vLLM 0.25.1 to 0.33.0 lists for pooling, and, for the rest, the
classes of transformers 5.24 that do not say `_supports_attention_backend`, which that backend asks
of a model; JinaBert's own code does not either (vllm-project/vllm#48127). Checked 2026-11-30.
Nothing is known of classes of another form.
"""

from controlplane.domain.facts.known_architectures import is_known_generator
from controlplane.domain.facts.transformers_classes import has_class

_FAMILIES = (
    "BigBird Canine ConvBert Deberta DebertaV2 FNet Flaubert Funnel IBert JinaBert LayoutLM "
    "LayoutLMv2 LayoutLMv3 Lilt Longformer Luke MPNet MT5 MarkupLM MegatronBert Mra "
    "Nystromformer RemBert RoFormer Reformer SqueezeBert T5 Tapas UMT5 XLM XLNet Yoso"
)
_ENDINGS = (
    "Model", "EncoderModel", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification",
)  # fmt: skip
_REGISTERED = frozenset(
    {
        "BertSpladeSparseEmbeddingModel", "BgeM3EmbeddingModel", "CLIPModel",
        "ColBERTJinaRobertaModel", "ColBERTLfm2Model", "ColBERTModernBertModel",
        "D3ForSequenceClassification", "DeepseekV3BidirectionalModel", "EmbeddingGemma2Model",
        "Gemma3TextModel", "GteModel", "GteNewForSequenceClassification", "GteNewModel",
        "InternLM2ForRewardModel", "JinaEmbeddingsV5Model", "Lfm2BidirectionalModel",
        "LlamaBidirectionalForSequenceClassification", "LlamaBidirectionalModel",
        "LlamaNemotronVLForSequenceClassification", "LlamaNemotronVLModel", "ModernVBertModel",
        "OpenAIPrivacyFilterForTokenClassification", "OpsColQwen3Model",
        "Qwen2ForProcessRewardModel", "Qwen2ForRewardModel",
        "Qwen3ASRForcedAlignerForTokenClassification", "Qwen3VLNemotronEmbedModel", "SiglipModel",
        "VoyageQwen3BidirectionalEmbedModel",
    }
)  # fmt: skip
_WITHOUT = frozenset(f"{family}{end}" for family in _FAMILIES.split() for end in _ENDINGS)


def lacks_encoder_class(architecture: str | None) -> bool:
    """Return whether vLLM has no class of that name, and none in transformers stands for it."""
    if architecture is None or architecture in _REGISTERED:
        return False
    if architecture in _WITHOUT:
        return True
    ending = next((each for each in _LONGEST_FIRST if architecture.endswith(each)), None)
    return ending is not None and not _is_known_family(architecture.removesuffix(ending))


_LONGEST_FIRST = sorted(_ENDINGS, key=len, reverse=True)
_TOLD_BY = ("ForSequenceClassification", "ForTokenClassification", "ForMaskedLM")


def _is_known_family(stem: str) -> bool:
    generates = is_known_generator(f"{stem}ForCausalLM")
    return generates or any(has_class(f"{stem}{ending}") for ending in _TOLD_BY)
