"""The language model classes that the open runtimes know, so that any other name can be refused.

Source: the causal and image-text classes of transformers 5.24, with those that only vLLM or
TensorRT-LLM 1.2 load, read 2026-11-28; `models/registry.py` of vLLM 0.25.1, 0.29.0 and 0.33.0,
read 2026-11-30.
"""

from controlplane.domain.facts.sources import Source, tensorrt_llm

_ENDINGS = ("ForCausalLM", "LMHeadModel")
_STEMS = frozenset(
    {
        "AXK1", "AXK2", "Afmoe", "AliceAI", "Apertus", "Apertus1p5Text", "Aquila", "Arcee",
        "Arctic", "AriaText", "BaiChuan", "Baichuan", "BailingHybrid", "BailingMoe", "BailingMoeV2",
        "BailingMoeV2_5", "BailingMoeV3", "Bamba", "Bart", "Beam", "Bert", "BigBird",
        "BigBirdPegasus", "BioGpt", "BitNet", "Blenderbot", "BlenderbotSmall", "Bloom", "Blt",
        "CTRL", "Camembert", "ChatGLM", "CodeGen", "Cohere", "Cohere2", "Cohere2Moe",
        "CohereCompass", "CpmAnt", "Cwm", "Data2VecText", "Dbrx", "DeciLM", "DeepSeek", "Deepseek",
        "DeepseekOCR", "DeepseekOCR2", "DeepseekV2", "DeepseekV3", "DeepseekV32", "DeepseekV4",
        "DeepseekV41", "DeepseekVLV2", "DiffLlama", "Doge", "DomynEdge", "Dory", "Dots1",
        "Dots3Note", "DotsOCR", "Electra", "Emu3", "Ernie", "Ernie4_5", "Ernie4_5_Moe", "Exaone",
        "Exaone4", "ExaoneMoE", "ExaoneMoe", "Fairseq2Llama", "Falcon", "FalconH1", "FalconMamba",
        "FlexOlmo", "Flint", "Fuyu", "GLM4V", "GPT2", "GPTBigCode", "GPTJ", "GPTNeo", "GPTNeoX",
        "GPTNeoXJapanese", "Gemma", "Gemma2", "Gemma3", "Gemma3n", "Gemma4", "Gemma4Assistant",
        "Gemma4Unified", "Git", "Glm", "Glm4", "Glm4Moe", "Glm4MoeLite", "Glm5Next", "GlmMoeDsa",
        "GptOss", "Granite", "GraniteMoe", "GraniteMoeHybrid", "GraniteMoeSWA", "GraniteMoeShared",
        "GraniteSWA", "Grok1", "Grok1Model", "HCXVision", "HCXVisionV2", "HYV3", "HYV4", "Helium",
        "HrmText", "HunYuanDenseV1", "HunYuanMoEV1", "HyperCLOVAX", "IQuestCoder",
        "IQuestLoopCoder", "Inkling", "Inkling2", "Inkling2Loop", "InternLM", "InternLM2",
        "InternLM2VE", "InternLM3", "JAIS", "Jais", "Jais2", "Jamba", "JetMoe", "K2Horizon",
        "KimiK2", "KimiLinear", "Kolibri1", "LLaMA", "Laguna", "LaraMini", "Lfm2", "Lfm2Moe",
        "Lfm3", "Llama", "Llama4", "LlavaLlama", "LongcatFlash", "LongcatFlashNgram", "MBart",
        "MPT", "Mamba", "Mamba2", "Marian", "MegatronBert", "Mellum", "MiMo", "MiMoV2",
        "MiMoV2Flash", "MiMoV2Omni", "MiniCPM", "MiniCPM3", "MiniMax", "MiniMaxM1", "MiniMaxM2",
        "MiniMaxM3", "MiniMaxM3Sparse", "MiniMaxM3VL", "MiniMaxText01", "Ministral", "Ministral3",
        "Mistral", "Mistral4", "MistralLarge3", "Mixtral", "Mllama", "ModernBertDecoder", "Molmo",
        "Moondream3", "MoonshotKimia", "Moshi", "Motif", "Mpt", "MuseGlimmer", "Musicgen",
        "MusicgenMelody", "Mvp", "Nanbeige", "NanoChat", "Nemotron", "NemotronH", "NemotronHPuzzle",
        "NemotronNAS", "OPT", "Olmo", "Olmo2", "Olmo3", "OlmoHybrid", "Olmoe", "OpenAIGPT", "Orion",
        "Ouro", "Ovis2_6", "Ovis2_6_Moe", "PLBart", "Palmyra", "Palmyra4", "PanguEmbedded",
        "PanguProMoEV2", "PanguUltraMoE", "Param2MoE", "Pegasus", "Persimmon", "Phi", "Phi3",
        "Phi3Small", "Phi3V", "Phi4Flash", "Phi4MM", "Phi4Multimodal", "PhiMoE", "Phimoe", "Plamo2",
        "Plamo3", "ProphetNet", "QWen", "Qwen2", "Qwen2Moe", "Qwen3", "Qwen3Moe", "Qwen3Next",
        "Qwen3_5", "Qwen3_5Moe", "Qwen4Exp", "RW", "RadioMBartPrefix", "RecurrentGemma", "RemBert",
        "Rnj1", "RoCBert", "RoFormer", "Roberta", "RobertaPreLayerNorm", "Rwkv", "SarvamMLA",
        "SarvamMoE", "SeedOss", "SmolLM3", "Solar", "SolarOpen", "StableLM", "StableLMEpoch",
        "StableLm", "Starcoder2", "Step1", "Step3", "Step3Text", "Step3p5", "Step3p7Flash", "Step5",
        "TeleChat", "TeleChat2", "TeleChat3", "TeleFLM", "TrOCR", "UnlimitedOCR", "VaultGemma",
        "Whisper", "XGLM", "XLMRoberta", "XLMRobertaXL", "XLMWith", "XLNet", "Xmod", "Xverse",
        "Youtu", "Yuan", "Zamba", "Zamba2", "Zaya", "xLSTM",
    }
)  # fmt: skip
KNOWN_SOURCE: Source = tensorrt_llm("Unknown architecture for AutoModelForCausalLM")


def is_known_generator(architecture: str) -> bool:
    for ending in _ENDINGS:
        if architecture.endswith(ending):
            return architecture.removesuffix(ending) in _STEMS
    return True
