"""What an architecture name says: what the model does and which engine takes it."""

from enum import StrEnum

from controlplane.domain.facts.pooling import Pooling


class Role(StrEnum):
    CAUSAL = "causal"
    EMBEDDING = "embedding"
    SEQUENCE_CLASSIFICATION = "sequence_classification"
    TOKEN_CLASSIFICATION = "token_classification"
    RERANKING = "reranking"
    """A language model whose answer is a score."""
    MULTI_VECTOR = "multi_vector"
    """A vector for each token of a text: late interaction."""
    MULTIMODAL = "multimodal"
    SPEECH = "speech"
    IMAGE_GENERATION = "image_generation"
    UNKNOWN = "unknown"


ENGINE_BUILDER = frozenset(
    {
        "LlamaForCausalLM", "LLaMAForCausalLM", "MistralForCausalLM", "AquilaForCausalLM",
        "AquilaModel", "InternLMForCausalLM", "XverseForCausalLM", "Qwen2ForCausalLM",
        "Qwen2MoeForCausalLM", "Palmyra4ForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM",
        "Gemma2ForCausalLM", "Gemma3ForCausalLM", "DeciLMForCausalLM",
    }
)  # fmt: skip
"""Named by the v1 engine; others that end with ForCausalLM are tried with a warning."""

ENCODER_MODEL_TYPES = frozenset(
    {
        "bert", "roberta", "xlm-roberta", "distilbert", "modernbert", "albert", "electra", "mpnet",
        "deberta", "deberta-v2", "nomic_bert", "new", "jina_bert", "camembert", "nystromformer",
    }
)  # fmt: skip
BIDIRECTIONAL_MODEL_TYPES = ENCODER_MODEL_TYPES | {"eurobert", "gte", "jina_embeddings_v3"}
"""Also those whose parameters are not counted as BERT's."""
ROBERTA_MODEL_TYPES = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})
"""Two of the position rows are never used: they lie at and below the padding index."""
_WITHOUT_LANGUAGE_HEAD = (
    "Model", "ForSequenceClassification", "ForTokenClassification", "ForTextEncoding",
    "ForQuestionAnswering", "ForReward",
)  # fmt: skip
_WRAPPERS_BY_NAME = frozenset(
    {
        "Alpamayo2Super", "Cheers", "DiffusionGemmaForBlockDiffusion", "H2OVLChatModel",
        "HfMoondream", "InternVLChatModel", "Llama_Nemotron_Nano_VL", "MiDashengLMModel",
        "MiniCPMO", "MiniCPMV", "MossAudioModel", "NVLM_D", "NemotronH_Nano_Omni_Reasoning_V3",
        "NemotronH_Nano_VL_V2", "NemotronH_Omni_Reasoning_V3", "NemotronH_Super_Omni_Reasoning_V3",
        "OpenVLAForActionPrediction", "Ovis", "Ovis2_5", "Phi4ForCausalLMV", "Qwen2_5OmniModel",
        "Qwen3ASRRealtimeGeneration", "SkyworkR1VChatModel", "UltravoxModel",
        "VoxtralRealtimeGeneration",
    }
)  # fmt: skip
"""Generators that hear or see, whose class names end as those of embedders do, or as none.
Source: `_MULTIMODAL_MODELS` of vLLM's `models/registry.py`, 0.25.1 to 0.33.0, 2026-11-30."""
_TEXT_BY_NAME = frozenset({"AquilaModel", "ChatGLMModel", "GritLM"})
"""Generators of text with such names. Source: `_TEXT_GENERATION_MODELS` of the same."""
_MULTI_VECTOR = ("HF_ColBERT", "ColBERT", "ColModernVBert", "ColPali", "ColQwen", "ColIdefics")
"""Source: the classes of transformers 5.24 for retrieval and of the ColBERT library, 2026-11-30."""
SPEECH_MODEL_TYPES = frozenset(
    {"whisper", "wav2vec2", "hubert", "speecht5", "bark", "csm", "dia", "kyutai_speech_to_text",
     "moonshine", "moshi", "musicgen", "parler_tts", "seamless_m4t", "seamless_m4t_v2",
     "speech_to_text", "vits"}
)  # fmt: skip
_SPEECH_ENDINGS = (
    "ForCTC", "ForSpeechSeq2Seq", "ForTextToSpeech", "ForSpeechToText", "ForAudioClassification",
    "ForTextToSpectrogram", "ForTextToWaveform",
)  # fmt: skip
MAMBA_MODEL_TYPES = frozenset({"mamba", "mamba2", "falcon_mamba"})
RECURRENT_ONLY_MODEL_TYPES = frozenset({"rwkv", "rwkv5", "rwkv6", "xlstm"})
RECURRENT_MODEL_TYPES = frozenset(
    {"jamba", "nemotron_h", "qwen3_next", "kimi_linear", "granitemoehybrid", "bamba", "zamba2",
     "lfm2", "recurrent_gemma", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_5", "qwen3_5_moe",
     "falcon_h1", "minimax"}
) | MAMBA_MODEL_TYPES | RECURRENT_ONLY_MODEL_TYPES  # fmt: skip
"""Layers that keep a state of fixed size instead of a KV cache, all of them or some."""
TRANSPOSED_MODEL_TYPES = frozenset({"gpt2", "openai-gpt"})
"""Their matrices are kept transposed (`Conv1D`)."""
GEMMA_MODEL_TYPES = frozenset({"gemma", "gemma2", "gemma3", "gemma3_text", "gemma4", "gemma4_text"})


def role_of(
    architecture: str | None,
    model_type: str | None,
    *,
    has_vision: bool,
    pooling: Pooling | None = None,
) -> Role:
    """Return what a checkpoint with this class name and these files does."""
    name = architecture or ""
    if (model_type or "") in SPEECH_MODEL_TYPES or name.endswith(_SPEECH_ENDINGS):
        return Role.SPEECH
    if name.endswith(("Transformer2DModel", "UNet2DConditionModel", "Pipeline")):
        return Role.IMAGE_GENERATION
    if name.startswith(_MULTI_VECTOR) or (pooling is not None and pooling.keeps_tokens):
        return Role.MULTI_VECTOR
    if name.endswith("ForSequenceClassification"):
        return Role.SEQUENCE_CLASSIFICATION
    if name.endswith("ForTokenClassification"):
        return Role.TOKEN_CLASSIFICATION
    if pooling is not None:
        return Role.RERANKING if pooling.ranks else Role.EMBEDDING
    if has_vision or name.endswith("ForConditionalGeneration") or name in _WRAPPERS_BY_NAME:
        return Role.MULTIMODAL
    if name.endswith(("ForCausalLM", "LMHeadModel")) or name in _TEXT_BY_NAME:
        return Role.CAUSAL
    if name.endswith(("Model", "ForMaskedLM")) or (model_type or "") in BIDIRECTIONAL_MODEL_TYPES:
        return Role.EMBEDDING
    return Role.UNKNOWN


def has_language_head(architecture: str | None) -> bool:
    """Return whether a class of this name scores words: embedders and classifiers do not."""
    name = architecture or ""
    named_otherwise = name in _WRAPPERS_BY_NAME or name in _TEXT_BY_NAME
    return named_otherwise or not name.endswith(_WITHOUT_LANGUAGE_HEAD)


def is_bidirectional(architecture: str | None, model_type: str | None) -> bool:
    """Return whether tokens see what comes after them, as in BERT and its relatives."""
    return (model_type or "") in BIDIRECTIONAL_MODEL_TYPES or "Bidirectional" in (
        architecture or ""
    )
