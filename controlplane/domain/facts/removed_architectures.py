"""Classes that vLLM had and gave up, none of which its Transformers backend takes over.

Source: `_PREVIOUSLY_SUPPORTED_MODELS` of `models/registry.py` of vLLM 0.25.1 to 0.33.0, read
2026-11-30 by `benchmarks/engine_classes.py`, without those whose class in transformers 5.24 says
`_supports_attention_backend`.
"""

from collections.abc import Mapping
from types import MappingProxyType

LAST_IN_VLLM: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "Phi3SmallForCausalLM",
            ),
            "0.9.2",
        ),
        **dict.fromkeys(
            (
                "BartForConditionalGeneration", "BartModel", "DonutForConditionalGeneration",
                "Florence2ForConditionalGeneration", "MBartForConditionalGeneration",
                "MllamaForConditionalGeneration", "MotifForCausalLM", "Phi4FlashForCausalLM",
            ),
            "0.10.2",
        ),
        **dict.fromkeys(
            (
                "Phi4MultimodalForCausalLM",
            ),
            "0.12.0",
        ),
        **dict.fromkeys(
            (
                "JAISLMHeadModel",
            ),
            "0.22.0",
        ),
        **dict.fromkeys(
            (
                "BaiChuanForCausalLM", "BaichuanForCausalLM", "InternLM2VEForCausalLM",
                "InternLMForCausalLM", "MiniMaxM1ForCausalLM", "MiniMaxText01ForCausalLM",
                "MiniMaxVL01ForConditionalGeneration", "QWenLMHeadModel",
                "QwenVLForConditionalGeneration", "Tarsier2ForConditionalGeneration",
                "XverseForCausalLM",
            ),
            "0.23.0",
        ),
        **dict.fromkeys(
            (
                "AquilaForCausalLM", "AquilaModel", "Grok1ForCausalLM", "Grok1ModelForCausalLM",
                "MantisForConditionalGeneration", "TarsierForConditionalGeneration",
            ),
            "0.24.0",
        ),
        **dict.fromkeys(
            (
                "TeleChatForCausalLM",
            ),
            "0.25.0",
        ),
        **dict.fromkeys(
            (
                "OuroForCausalLM", "Plamo2ForCausalLM",
            ),
            "0.26.0",
        ),
        **dict.fromkeys(
            (
                "ArcticForCausalLM", "Cheers", "CheersForConditionalGeneration",
                "Fairseq2LlamaForCausalLM", "FireRedLIDForConditionalGeneration", "GritLM",
                "HCXVisionForCausalLM", "MPTForCausalLM", "MptForCausalLM", "PrithviGeoSpatialMAE",
                "RWForCausalLM", "StableLMEpochForCausalLM",
            ),
            "0.28.0",
        ),
    }
)  # fmt: skip
"""Class -> the last version that loads it; later ones fail to start."""


def given_up(architecture: str | None, version: str) -> str | None:
    """Return the last version with a class, or None where this one may have it."""
    last = LAST_IN_VLLM.get(architecture or "")
    return last if last is not None and _number(version)[:2] > _number(last)[:2] else None


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
