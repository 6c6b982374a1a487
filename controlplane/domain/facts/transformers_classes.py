"""The model classes that transformers has, without whose class a build quantizes nothing.

Source: the auto-mappings of transformers 5.24.0, read 2026-11-30.
"""

from collections.abc import Mapping

TRANSFORMERS_VERSION = "5.24.0"
_STEMS: Mapping[str, str] = {
    "ForCausalLM": (
        "AXK1 AXK2 Afmoe Apertus Apertus1p5Text Arcee AriaText BailingHybrid Bamba Bart Beam "
        "BigBird BigBirdPegasus BioGpt BitNet Blenderbot BlenderbotSmall Bloom Blt Camembert "
        "CodeGen Cohere Cohere2 Cohere2Moe CohereCompass CpmAnt Cwm Data2VecText Dbrx "
        "DeepseekV2 DeepseekV3 DeepseekV32 DeepseekV4 DiffLlama Doge Dory Dots1 Dots3Note "
        "Electra Emu3 Ernie Ernie4_5 Ernie4_5_Moe Exaone4 ExaoneMoe Falcon FalconH1 FalconMamba "
        "FlexOlmo Flint Fuyu GPTBigCode GPTJ GPTNeo GPTNeoX GPTNeoXJapanese Gemma Gemma2 Gemma3 "
        "Gemma3n Gemma4 Gemma4Assistant Gemma4Unified Gemma4UnifiedAssistant Git Glm Glm4 "
        "Glm4Moe Glm4MoeLite GlmMoeDsa GptOss Granite GraniteMoe GraniteMoeHybrid GraniteMoeSWA "
        "GraniteMoeShared GraniteSWA HYV3 HYV4 Helium HrmText HunYuanDenseV1 HunYuanMoEV1 "
        "HyperCLOVAX Inkling Inkling2 Inkling2Loop Jais2 Jamba JetMoe KimiLinear Kolibri1 "
        "Laguna LaraMini Lfm2 Lfm2Moe Lfm3 Llama Llama4 LongcatFlash MBart Mamba Mamba2 Marian "
        "MegatronBert Mellum MiMoV2Flash MiniCPM3 MiniMax MiniMaxM2 MiniMaxM3VL Ministral "
        "Ministral3 Mistral Mistral4 Mixtral Mllama ModernBertDecoder Moshi Mpt Musicgen "
        "MusicgenMelody Mvp NanoChat Nemotron NemotronH OPT Olmo Olmo2 Olmo3 OlmoHybrid Olmoe "
        "PLBart Pegasus Persimmon Phi Phi3 Phi4Multimodal Phimoe ProphetNet Qwen2 Qwen2Moe "
        "Qwen3 Qwen3Moe Qwen3Next Qwen3_5 Qwen3_5Moe Qwen4Exp RecurrentGemma RemBert RoCBert "
        "RoFormer Roberta RobertaPreLayerNorm Rwkv SeedOss SmolLM3 SolarOpen StableLm "
        "Starcoder2 TrOCR VaultGemma Whisper XGLM XLMRoberta XLMRobertaXL Xmod Youtu Zamba "
        "Zamba2 Zaya xLSTM"
    ),
    "LMHeadModel": ("Bert CTRL FlaubertWith GPT2 OpenAIGPT XLMWith XLNet"),
    "ForConditionalGeneration": (
        "Apertus1p5 Aria AudioFlamingo3 AyaVision Bart BigBirdPegasus Blenderbot "
        "BlenderbotSmall Blip Blip2 Canary Chameleon ClvpModel Cohere2Vision CohereAsr "
        "CohereCompass Cosmos3Edge Cosmos3Omni Csm DeepseekOcr2 DeepseekVL DeepseekVLHybrid Dia "
        "Dots3Note Emu3 Ernie4_5_VLMoe Exaone4_5_ FSMT FastVlm Florence2 FunAsrNano Gemma3 "
        "Gemma3n Gemma4 Gemma4Unified Glm46V Glm4v Glm4vMoe Glm5Next GlmAsr GlmOcr GotOcr2 "
        "GradiumPhononTTS Granite4Vision GraniteDocling GraniteSpeech GraniteSpeechPlus HYV4VL "
        "HiggsAudioV2 HunYuanVL HyperCLOVAXVisionV2 Idefics2 Idefics3 Inkling Inkling2 "
        "Inkling2Loop InstructBlip InstructBlipVideo InternVL Janus Kimi_K25 Kosmos2 Kosmos2_5 "
        "KyutaiSpeechToText LED Lfm2Vl Lfm3Vl LightOnOcr Llama4 Llava LlavaNext LlavaNextVideo "
        "LlavaOnevision LongT5 M2M100 MBart MT5 MiniCPMOcr MiniCPMV4_6 MiniCPMV4_7 "
        "MiniMaxM3Sparse Mistral3 MistralLarge4 Mllama Molmo2 Moonshine MoonshineStreaming "
        "MossTranscribeDiarize MuseGlimmer MuseSpark MusicFlamingo Musicgen MusicgenMelody Mvp "
        "Nemotron3_5Transcribe NllbMoe OmniASR Ovis2 PI0 PLBart PPFormulaNet PaddleOCRVL "
        "PaliGemma Pegasus PegasusX PerceptionLM Pix2Struct PocketTTS Pop2Piano ProphetNet "
        "QianfanOCR Qwen2Audio Qwen2VL Qwen2_5Omni Qwen2_5OmniThinker Qwen2_5_VL Qwen3ASR "
        "Qwen3OmniMoe Qwen3OmniMoeThinker Qwen3VL Qwen3VLMoe Qwen3_5 Qwen3_5Moe Qwen4Exp "
        "SmolVLM Speech2Text Step3p7 SwitchTransformers T5 T5Gemma T5Gemma2 UMT5 Udop "
        "UnlimitedOcr VibeVoice VibeVoiceAsr VideoLlama3 VideoLlava VipLlava Voxtral "
        "VoxtralRealtime Whisper"
    ),
    "ForSequenceClassification": (
        "AXK1 AXK2 Albert Arcee Bart Bert BigBird BigBirdPegasus BioGpt Bloom CTRL Camembert "
        "Canine CohereCompassText ConvBert Data2VecAudio Data2VecText Deberta DebertaV2 "
        "DeepseekV2 DeepseekV3 DiffLlama DistilBert Doge Electra Ernie Esm Esmc EuroBert "
        "Exaone4 FNet Falcon Flaubert Funnel GPT2 GPTBigCode GPTJ GPTNeo GPTNeoX Gemma Gemma2 "
        "Gemma3 Gemma3Text Glm Glm4 GptOss Gte Helium Hubert HunYuanDenseV1 HunYuanMoEV1 IBert "
        "Jamba JetMoe JinaEmbeddingsV3 LayoutLM LayoutLMv2 LayoutLMv3 Lilt Llama Longformer "
        "Luke MBart MPNet MT5 MarkupLM MegatronBert MiniCPM3 MiniMax Ministral Ministral3 "
        "Mistral Mistral4 Mixtral MobileBert ModernBert ModernBertDecoder ModernVBert Mpt Mra "
        "Mvp Nemotron NomicBert Nystromformer OPT Olmo Olmo2 Olmo3 OpenAIGPT PLBart Perceiver "
        "Persimmon Phi Phi3 Phimoe Qwen2 Qwen2Moe Qwen3 Qwen3Moe Qwen3Next Qwen3_5 Qwen3_5Text "
        "Reformer RemBert RoCBert RoFormer Roberta RobertaPreLayerNorm SEW SEWD SeedOss SmolLM3 "
        "SqueezeBert StableLm Starcoder2 T5 T5Gemma T5Gemma2 Tapas UMT5 UltraVBert Ultrabert "
        "UniSpeech UniSpeechSat Wav2Vec2 Wav2Vec2Bert Wav2Vec2Conformer WavLM XLM XLMRoberta "
        "XLMRobertaXL XLNet Xmod Yoso Zamba Zamba2"
    ),
    "ForTokenClassification": (
        "AXK1 AXK2 Albert Apertus Arcee Beam Bert BigBird BioGpt Bloom Bros Camembert Canine "
        "ConvBert Data2VecText Deberta DebertaV2 DeepseekV3 DiffLlama DistilBert Electra Ernie "
        "Esm Esmc EuroBert Exaone4 FNet Falcon Flaubert Funnel GPT2 GPTBigCode GPTNeo GPTNeoX "
        "Gemma Gemma2 Glm Glm4 GptOss Gte Helium IBert JinaEmbeddingsV3 LayoutLM LayoutLMv2 "
        "LayoutLMv3 Lilt Llama Longformer Luke MPNet MT5 MarkupLM MegatronBert MiniMax "
        "Ministral Ministral3 Mistral Mistral4 Mixtral MobileBert ModernBert ModernVBert Mpt "
        "Mra Nemotron NomicBert Nystromformer OpenAIPrivacyFilter Persimmon Phi Phi3 Qwen2 "
        "Qwen2Moe Qwen3 Qwen3ASR Qwen3Moe Qwen3Next Qwen3_5 RemBert RoCBert RoFormer Roberta "
        "RobertaPreLayerNorm SeedOss SmolLM3 SqueezeBert StableLm Starcoder2 T5 T5Gemma "
        "T5Gemma2 UMT5 UltraVBert Ultrabert XLM XLMRoberta XLMRobertaXL XLNet Xmod Yoso"
    ),
    "ForMaskedLM": (
        "Albert Bert BigBird Camembert ConvBert Data2VecText Deberta DebertaV2 DistilBert "
        "Electra Ernie Esm Esmc EuroBert FNet Funnel Gte IBert JinaEmbeddingsV3 LayoutLM "
        "Longformer Luke MPNet MegatronBert MobileBert ModernBert ModernVBert Mra NeoMME "
        "NomicBert Nystromformer Perceiver Reformer RemBert RoCBert RoFormer Roberta "
        "RobertaPreLayerNorm SqueezeBert Tapas UltraVBert Ultrabert XLMRoberta XLMRobertaXL "
        "Xmod Yoso"
    ),
}
"""Ending -> what stands before it."""
_CLASSES = frozenset(stem + ending for ending, stems in _STEMS.items() for stem in stems.split())

_NOT_EXPORTED = frozenset({"VoxtralRealtimeTextModel"})
"""Classes that its own mappings name and the package does not have under that name."""


def has_class(architecture: str) -> bool:
    """Return whether transformers has a class; of other endings than those above it is assumed."""
    if architecture in _NOT_EXPORTED:
        return False
    return architecture in _CLASSES or not architecture.endswith(tuple(_STEMS))
