"""Classes that vLLM does not divide into pipeline stages, and those that it serves no adapters on.

Source: which classes of `models/registry.py` implement `SupportsPP` and `SupportsLoRA` in vLLM
0.25.1 to 0.33.0, checked 2026-11-30. Nothing is known of classes that are not
named there.
"""

from collections.abc import Mapping
from types import MappingProxyType

WITHOUT_STAGES = frozenset(
    {
        "AliceAIForCausalLM", "AriaForConditionalGeneration", "BertForMaskedLM",
        "BertForSequenceClassification", "BertForTokenClassification", "BertModel",
        "BertSpladeSparseEmbeddingModel", "BgeM3EmbeddingModel", "CLIPModel",
        "CohereAsrForConditionalGeneration", "ColBERTJinaRobertaModel", "ColBERTLfm2Model",
        "ColBERTModernBertModel", "ColModernVBertForRetrieval", "ColUltraVBertForRetrieval",
        "D3ForSequenceClassification", "DomynEdgeForCausalLM", "DoryForCausalLM",
        "EmbeddingGemma2Model", "FireRedASR2ForConditionalGeneration",
        "FireRedLIDForConditionalGeneration", "FunASRForConditionalGeneration",
        "GPT2ForSequenceClassification", "Gemma3TextModel", "Gemma3nForCausalLM",
        "Gemma3nForConditionalGeneration", "GteModel", "GteNewForSequenceClassification",
        "GteNewModel", "HF_ColBERT", "HrmTextForCausalLM", "IQuestLoopCoderForCausalLM",
        "Idefics3ForConditionalGeneration", "JinaForRanking", "Lfm2BidirectionalModel",
        "LlamaBidirectionalForSequenceClassification", "LlamaBidirectionalModel",
        "Mamba2ForCausalLM", "ModernBertForSequenceClassification",
        "ModernBertForTokenClassification", "ModernBertModel", "ModernVBertModel",
        "NemotronH_Nano_Omni_Reasoning_V3", "NemotronH_Nano_VL_V2", "NemotronH_Omni_Reasoning_V3",
        "NemotronH_Super_Omni_Reasoning_V3", "NemotronParseForConditionalGeneration",
        "NomicBertModel", "OpenAIPrivacyFilterForTokenClassification", "OuroForCausalLM",
        "PaddleOCRVLForConditionalGeneration", "Phi4MMForCausalLM", "PrithviGeoSpatialMAE",
        "RadioMBartPrefixForCausalLM", "RobertaForMaskedLM", "RobertaForSequenceClassification",
        "RobertaForTokenClassification", "RobertaModel", "SiglipModel",
        "SmolVLMForConditionalGeneration", "Terratorch", "VoyageQwen3BidirectionalEmbedModel",
        "WhisperForConditionalGeneration", "XLMRobertaForSequenceClassification",
        "XLMRobertaForTokenClassification", "XLMRobertaModel", "Zamba2ForCausalLM",
    }
)  # fmt: skip
_WITHOUT_ADAPTERS = frozenset(
    {
        "ArcticForCausalLM", "AriaForConditionalGeneration", "BailingMoeV2_5ForCausalLM",
        "BailingMoeV3ForCausalLM", "BailingMoeV3VLForConditionalGeneration", "BeamForCausalLM",
        "BeeForConditionalGeneration", "BertForMaskedLM", "BloomForCausalLM", "CLIPModel",
        "ChameleonForConditionalGeneration", "Cohere2MoeForCausalLM",
        "Cohere2VisionForConditionalGeneration", "CohereAsrForConditionalGeneration",
        "ColBERTJinaRobertaModel", "ColBERTLfm2Model", "ColBERTModernBertModel",
        "ColModernVBertForRetrieval", "ColUltraVBertForRetrieval",
        "Cosmos3EdgeForConditionalGeneration", "D3ForSequenceClassification", "DbrxForCausalLM",
        "DeepseekV41ForCausalLM", "DeepseekVLV2ForCausalLM", "DiffusionGemmaForBlockDiffusion",
        "DomynEdgeForCausalLM", "DoryForCausalLM", "Dots3NoteForCausalLM", "EmbeddingGemma2Model",
        "FalconForCausalLM", "FalconMambaForCausalLM", "FireRedASR2ForConditionalGeneration",
        "FireRedLIDForConditionalGeneration", "FlintForCausalLM",
        "FunASRForConditionalGeneration", "FunAudioChatForConditionalGeneration",
        "FuyuForCausalLM", "GPT2ForSequenceClassification", "GPT2LMHeadModel", "GPTJForCausalLM",
        "Gemma3TextModel", "Gemma3nForCausalLM", "Gemma3nForConditionalGeneration",
        "Glm5NextForCausalLM", "GteModel", "GteNewForSequenceClassification", "GteNewModel",
        "HCXVisionForCausalLM", "HCXVisionV2ForCausalLM", "HfMoondream", "HrmTextForCausalLM",
        "IQuestLoopCoderForCausalLM", "JinaForRanking", "KananaVForConditionalGeneration",
        "KimiK25ForConditionalGeneration", "KimiK3ForConditionalGeneration",
        "KimiLinearForCausalLM", "KimiVLForConditionalGeneration", "Lfm2BidirectionalModel",
        "LlamaBidirectionalForSequenceClassification", "LlamaBidirectionalModel",
        "LlavaOnevision2ForConditionalGeneration", "LlavaOnevisionForConditionalGeneration",
        "MPTForCausalLM", "Mamba2ForCausalLM", "MambaForCausalLM", "MiDashengLMModel",
        "MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM", "MiMoV2OmniForCausalLM",
        "MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration",
        "ModernBertForSequenceClassification", "ModernBertForTokenClassification",
        "ModernVBertModel", "Moondream3ForCausalLM", "MoonshotKimiaForCausalLM",
        "MossTranscribeDiarizeForConditionalGeneration", "MptForCausalLM",
        "NemotronParseForConditionalGeneration", "NomicBertModel",
        "OpenAIPrivacyFilterForTokenClassification", "OpenVLAForActionPrediction",
        "OrionForCausalLM", "Ovis", "Ovis2_5", "Ovis2_6ForCausalLM", "Ovis2_6_MoeForCausalLM",
        "PaddleOCRVLForConditionalGeneration", "PersimmonForCausalLM", "Phi3VForCausalLM",
        "Phi4ForCausalLMV", "PrithviGeoSpatialMAE", "Qwen2AudioForConditionalGeneration",
        "RForConditionalGeneration", "RWForCausalLM", "RadioMBartPrefixForCausalLM",
        "RobertaForTokenClassification", "SiglipModel", "SkyworkR1VChatModel",
        "StableLMEpochForCausalLM", "StableLmForCausalLM", "Step1ForCausalLM",
        "Step3TextForCausalLM", "Step3VLForConditionalGeneration", "Step3p5ForCausalLM",
        "Step3p7ForConditionalGeneration", "StepVLForConditionalGeneration", "Terratorch",
        "XLMRobertaForTokenClassification", "Zamba2ForCausalLM",
    }
)  # fmt: skip
_ADAPTERS_SINCE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("LlavaNextVideoForConditionalGeneration",),
            "0.26",
        ),
        **dict.fromkeys(
            (
                "DeepseekV4ForCausalLM", "LlavaNextForConditionalGeneration",
                "Qwen3OmniMoeForConditionalGeneration",
            ),
            "0.29",
        ),
        **dict.fromkeys(
            (
                "ModernBertModel", "NemotronH_Nano_Omni_Reasoning_V3", "NemotronH_Nano_VL_V2",
                "NemotronH_Omni_Reasoning_V3", "NemotronH_Super_Omni_Reasoning_V3",
                "RobertaForSequenceClassification", "VoyageQwen3BidirectionalEmbedModel",
                "XLMRobertaForSequenceClassification",
            ),
            "0.31",
        ),
        **dict.fromkeys(
            (
                "BertModel", "BertSpladeSparseEmbeddingModel", "BgeM3EmbeddingModel",
                "GPTNeoXForCausalLM", "HF_ColBERT", "RobertaForMaskedLM", "RobertaModel",
                "XLMRobertaModel",
            ),
            "0.32",
        ),
        **dict.fromkeys(
            ("BertForSequenceClassification", "BertForTokenClassification",),
            "0.33",
        ),
    }
)  # fmt: skip
"""Class -> the first version that serves adapters on it."""


def serves_adapters(architecture: str, version: str) -> bool:
    """Return whether this vLLM serves adapters on a class; True where nothing is known."""
    if architecture in _WITHOUT_ADAPTERS:
        return False
    since = _ADAPTERS_SINCE.get(architecture)
    return since is None or _number(version) >= _number(since)


_HEARS_DIVIDED = "qwen3_omni"
"""The part that hears is divided by whole heads, and kept whole from `HEARS_WHOLE_SINCE` on.
Source: `models/qwen3_omni_moe_thinker.py` of 0.25.1 to 0.33.0, 2026-11-30."""
HEARS_WHOLE_SINCE = "0.29"


def divides_hearing(model_type: str, version: str) -> bool:
    is_older = _number(version) < _number(HEARS_WHOLE_SINCE)
    return model_type.startswith(_HEARS_DIVIDED) and is_older


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
