"""Classes that draft for another model and answer nothing by themselves.

Source: `_SPECULATIVE_DECODING_MODELS` of `models/registry.py`, vLLM 0.25.1 to 0.33.0, read
2026-11-30 by `benchmarks/engine_classes.py`.
"""

DRAFTERS = frozenset(
    {
        "BailingMoeV25MTPModel", "BailingMoeV3MTPModel", "DFlash2BeamDraftModel",
        "DFlash2DraftModel", "DFlashDraftModel", "DFlashLagunaForCausalLM",
        "DFlashMuseGlimmerAssistantModel", "DFlashQwen3XPressModel", "DSparkDraftModel",
        "DSparkV41DraftModel", "DeepSeekMTPModel", "DeepSeekV4MTPModel", "DeepseekV32MTPModel",
        "Dots3NoteMTPModel", "Eagle3DeepseekV2ForCausalLM", "Eagle3DeepseekV3ForCausalLM",
        "Eagle3LlamaForCausalLM", "Eagle3MiniMaxM2ForCausalLM", "Eagle3Qwen2_5vlForCausalLM",
        "Eagle3Qwen3ForCausalLM", "Eagle3Qwen3vlForCausalLM", "EagleCohereForCausalLM",
        "EagleDeepSeekMTPModel", "EagleLlama4ForCausalLM", "EagleLlamaForCausalLM",
        "EagleMiniCPMForCausalLM", "EagleMistralForCausalLM", "EagleMistralLarge3ForCausalLM",
        "ErnieMTPModel", "Exaone4_5_MTP", "ExaoneMoeMTP", "ExtractHiddenStatesModel",
        "Gemma4DSparkModel", "Gemma4MTPModel", "Glm4MoeLiteMTPModel", "Glm4MoeMTPModel",
        "Glm5NextMTPModel", "GlmOcrMTPModel", "HYV3MTPModel", "HYV4MTPModel", "InklingMTPModel",
        "InternS2MobiusMTP", "K3DSparkModel", "KimiK3MTPModel", "LiLiCorrDraftModel",
        "LlamaForCausalLMEagle3", "LongCatFlashMTPModel", "MedusaModel", "MiMoMTPModel",
        "MiMoV2MTPModel", "MiMoV2OmniMTPModel", "MiniMaxM3MTP", "MuseGlimmerAssistantModel",
        "MuseSparkDSparkModel", "NemotronHMTPModel", "OpenPanguMTPModel", "PEagleDraftModel",
        "ParseAuxMTPModel", "PeagleLlamaForCausalLM", "PeagleQwen3ForCausalLM", "Qwen3DSparkModel",
        "Qwen3NextMTP", "Qwen3OmniDSparkModel", "Qwen3XPressModel", "Qwen3_5MTP", "Qwen3_5MoeMTP",
        "Qwen4ExpMTP", "Step3p5MTP", "Step5MTP",
    }
)  # fmt: skip
