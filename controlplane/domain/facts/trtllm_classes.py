"""Classes that the PyTorch backend of TensorRT-LLM has, in any version from 1.0 on.

Source: `@register_auto_model` in `tensorrt_llm/_torch/models/` as listed by `_arch_index.py` of
2026-09, the modules that were there before it, and "Supported Models" of its documentation;
checked 2026-11-30. A class that only AutoDeploy has is not in it: `trtllm-serve` is started with
the PyTorch backend. Which came after 1.2 is by the "Supported Models" of 1.2, 1.3.0rc13 and
1.3.0rc20, checked 2026-12-01.
"""

from controlplane.domain.facts.known_architectures import is_known_generator

_CAUSAL = (
    "Afmoe Apertus Cohere2 DeciLM DeepseekV3 DeepseekV32 DeepseekV4 Exaone4 ExaoneMoE ExaoneMoe "
    "Gemma3 Gemma4 Gemma4Assistant Glm4Moe GlmMoeDsa GptOss HCXVision HunYuanDenseV1 HunYuanMoEV1 "
    "KimiK2 KimiLinear Laguna Llama LLaMA Llama4 MiniMaxM2 MiniMaxM3Sparse Mistral MistralLarge3 "
    "Mixtral Nemotron NemotronH NemotronHPuzzle NemotronNAS Phi3 Phi4MM Qwen2 Qwen2Moe Qwen3 "
    "Qwen3Moe Qwen3Next Qwen3_5 Qwen3_5Moe SeedOss Starcoder2 Step3p5"
)
_CONDITIONAL = (
    "Bart ChatGLM Cohere2Vision Cosmos3 Exaone4_5_ Gemma3 Gemma4 Gemma4Unified KimiK25 KimiK3 "
    "Llama4 LlavaNext MBart MiniCPMV4_6 MiniMaxM3Sparse Mistral3 Mllama Pixtral Qwen2VL Qwen2_5_VL "
    "Qwen3VL Qwen3VLMoe Qwen3_5 Qwen3_5Moe QwenImageBench Step3p7 T5 Whisper"
)
TRTLLM_CLASSES = frozenset(
    {
        *(f"{name}ForCausalLM" for name in _CAUSAL.split()),
        *(f"{name}ForConditionalGeneration" for name in _CONDITIONAL.split()),
        "ChatGLMModel", "DreamModel", "HCXVisionModel", "LlavaLlamaModel", "NemotronH_Nano_VL_V2",
        "NemotronH_Nano_Omni_Reasoning_V3",
    }
)  # fmt: skip


_AFTER_1_2 = (
    "Afmoe Cohere2 Cohere2Vision Cosmos3 DeepseekV4 DeepseekV41 Exaone4_5_ Gemma4 Gemma4Assistant "
    "Gemma4Unified Glm5Next GlmMoeDsa Inkling KimiK25 KimiK3 Laguna MiniCPMV4_6 MiniMaxM3Sparse "
    "Qwen3_5 Qwen3_5Moe Qwen4Exp Step3p5 Step3p7"
)
CAME_LATER = frozenset(
    f"{name}{ending}"
    for name in _AFTER_1_2.split()
    for ending in ("ForCausalLM", "ForConditionalGeneration")
)
_WITHOUT_THEM = "1.2"


def lacks_class(architecture: str | None, version: str) -> bool:
    """Return whether a known generator is none of TensorRT-LLM's PyTorch backend."""
    if architecture is None or not is_known_generator(architecture):
        return False
    if architecture in CAME_LATER:
        return version == _WITHOUT_THEM
    return architecture not in TRTLLM_CLASSES
