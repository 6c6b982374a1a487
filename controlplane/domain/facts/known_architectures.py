"""The language model classes that the open runtimes know, so that any other name can be refused.

Source: the causal and image-text classes of transformers 5.24, with those that only vLLM or
TensorRT-LLM 1.2 load, read 2026-11-28; vLLM's `models/registry.py` again 2026-11-30.
"""

from controlplane.domain.facts.sources import Source, tensorrt_llm

_ENDINGS = ("ForCausalLM", "LMHeadModel")
_STEMS = frozenset(
    {
        "AXK1", "AXK2", "Afmoe", "Apertus", "Apertus1p5Text", "Aquila", "Arcee", "Arctic",
        "AriaText", "BaiChuan", "Baichuan", "BailingHybrid", "BailingMoe", "BailingMoeV2", "Bamba",
        "Bart", "Beam", "Bert", "BigBird", "BigBirdPegasus", "BioGpt", "BitNet", "Blenderbot",
        "BlenderbotSmall", "Bloom", "Blt", "CTRL", "Camembert", "ChatGLM", "CodeGen", "Cohere",
        "Cohere2", "Cohere2Moe", "CohereCompass", "CpmAnt", "Cwm", "Data2VecText", "Dbrx", "DeciLM",
        "DeepSeek", "Deepseek", "DeepseekOCR", "DeepseekV2", "DeepseekV3", "DeepseekV32",
        "DeepseekV4", "DeepseekVLV2", "DiffLlama", "Doge", "Dory", "Dots1", "Dots3Note", "DotsOCR",
        "Electra", "Emu3", "Ernie", "Ernie4_5", "Ernie4_5_Moe", "Exaone", "Exaone4", "ExaoneMoe",
        "Fairseq2Llama", "Falcon", "FalconH1", "FalconMamba", "FlexOlmo", "Flint", "Fuyu", "GLM4V",
        "GPT2", "GPTBigCode", "GPTJ", "GPTNeo", "GPTNeoX", "GPTNeoXJapanese", "Gemma", "Gemma2",
        "Gemma3", "Gemma3n", "Gemma4", "Gemma4Assistant", "Gemma4Unified", "Git", "Glm", "Glm4",
        "Glm4Moe", "Glm4MoeLite", "GlmMoeDsa", "GptOss", "Granite", "GraniteMoe",
        "GraniteMoeHybrid", "GraniteMoeSWA", "GraniteMoeShared", "GraniteSWA", "Grok1",
        "Grok1Model", "HCXVision", "HYV3", "HYV4", "Helium", "HrmText", "HunYuanDenseV1",
        "HunYuanMoEV1", "HyperCLOVAX", "Inkling", "Inkling2", "Inkling2Loop", "InternLM",
        "InternLM2", "InternLM2VE", "InternLM3", "JAIS", "Jais", "Jais2", "Jamba", "JetMoe",
        "KimiK2", "KimiLinear", "Kolibri1", "LLaMA", "Laguna", "LaraMini", "Lfm2", "Lfm2Moe",
        "Lfm3", "Llama", "Llama4", "LlavaLlama", "LongcatFlash", "MBart", "MPT", "Mamba", "Mamba2",
        "Marian", "MegatronBert", "Mellum", "MiMo", "MiMoV2Flash", "MiniCPM", "MiniCPM3", "MiniMax",
        "MiniMaxM1", "MiniMaxM2", "MiniMaxM3", "MiniMaxM3VL", "MiniMaxText01", "Ministral",
        "Ministral3", "Mistral", "Mistral4", "MistralLarge3", "Mixtral", "Mllama",
        "ModernBertDecoder", "Molmo", "MoonshotKimia", "Moshi", "Mpt", "Musicgen", "MusicgenMelody",
        "Mvp", "NanoChat", "Nemotron", "NemotronH", "OPT", "Olmo", "Olmo2", "Olmo3", "OlmoHybrid",
        "Olmoe", "OpenAIGPT", "Orion", "Ouro", "PLBart", "Palmyra", "Palmyra4", "PanguEmbedded",
        "PanguProMoEV2", "PanguUltraMoE", "Pegasus", "Persimmon", "Phi", "Phi3", "Phi3Small",
        "Phi3V", "Phi4MM", "Phi4Multimodal", "PhiMoE", "Phimoe", "Plamo2", "Plamo3", "ProphetNet",
        "QWen", "Qwen2", "Qwen2Moe", "Qwen3", "Qwen3Moe", "Qwen3Next", "Qwen3_5", "Qwen3_5Moe",
        "Qwen4Exp", "RW", "RecurrentGemma", "RemBert", "RoCBert", "RoFormer", "Roberta",
        "RobertaPreLayerNorm", "Rwkv", "SeedOss", "SmolLM3", "Solar", "SolarOpen", "StableLM",
        "StableLMEpoch", "StableLm", "Starcoder2", "Step3", "Step3Text", "Step3p7Flash", "TeleChat",
        "TeleChat2", "TeleFLM", "TrOCR", "VaultGemma", "Whisper", "XGLM", "XLMRoberta",
        "XLMRobertaXL", "XLMWith", "XLNet", "Xmod", "Xverse", "Youtu", "Yuan", "Zamba", "Zamba2",
        "Zaya", "xLSTM",
    }
)  # fmt: skip
KNOWN_SOURCE: Source = tensorrt_llm("Unknown architecture for AutoModelForCausalLM")


def is_known_generator(architecture: str) -> bool:
    """Return whether a class that generates text is one that some runtime here loads."""
    for ending in _ENDINGS:
        if architecture.endswith(ending):
            return architecture.removesuffix(ending) in _STEMS
    return True
