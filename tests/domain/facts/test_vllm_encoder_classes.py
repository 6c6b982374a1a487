"""Which encoder classes vLLM serves, by its registry or by those of transformers."""

import pytest

from controlplane.domain.facts.vllm_encoder_classes import lacks_encoder_class


@pytest.mark.parametrize(
    ("architecture", "lacks"),
    [
        ("BertModel", False),
        ("XLMRobertaForSequenceClassification", False),
        ("ModernBertForTokenClassification", False),
        ("DistilBertForSequenceClassification", False),
        ("LlamaModel", False),
        ("Qwen2ForSequenceClassification", False),
        ("LlamaBidirectionalModel", False),
        ("GteNewModel", False),
        ("DebertaV2ForSequenceClassification", True),
        ("MPNetModel", True),
        ("LlamaEmbeddingModel", True),
        ("NVEmbedModel", True),
        ("GritLM", False),
        (None, False),
    ],
)
def test_a_class_of_no_family_is_lacking(architecture: str | None, lacks: bool) -> None:
    assert lacks_encoder_class(architecture) is lacks
