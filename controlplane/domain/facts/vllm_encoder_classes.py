"""Encoders that vLLM neither has a class of nor runs by its backend for others.

Source: what `models/registry.py` of vLLM 0.25.1 to 0.33.0 lists for pooling, and, for the rest, the
classes of transformers 5.24 that do not say `_supports_attention_backend`, which that backend asks
of a model; JinaBert's own code does not either (vllm-project/vllm#48127). Checked 2026-11-30.
Nothing is known of classes that are not here.
"""

_FAMILIES = (
    "BigBird Canine ConvBert Deberta DebertaV2 FNet Flaubert Funnel IBert JinaBert LayoutLM "
    "LayoutLMv2 LayoutLMv3 Lilt Longformer Luke MPNet MT5 MarkupLM MegatronBert Mra "
    "Nystromformer RemBert RoFormer Reformer SqueezeBert T5 Tapas UMT5 XLM XLNet Yoso"
)
_ENDINGS = (
    "Model", "EncoderModel", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification",
)  # fmt: skip
WITHOUT_CLASS = frozenset(f"{family}{end}" for family in _FAMILIES.split() for end in _ENDINGS)
