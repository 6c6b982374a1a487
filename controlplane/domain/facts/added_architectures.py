"""Classes that came to vLLM after the oldest version that hosts may run, and with which version.

Source: `models/registry.py` of vLLM 0.25.1 to 0.33.0, each of them, read 2026-11-30 by
`benchmarks/engine_classes.py`. Left out are classes of transformers that vLLM's own backend takes
instead, and those that it takes for another class of the family (`_normalize_arch`).
"""

from collections.abc import Mapping
from types import MappingProxyType

FIRST_IN_VLLM: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "InklingForCausalLM", "InklingForConditionalGeneration",
                "LongcatFlashNgramForCausalLM",
            ),
            "0.26",
        ),
        **dict.fromkeys(
            (
                "KimiK3ForConditionalGeneration",
            ),
            "0.27",
        ),
        **dict.fromkeys(
            (
                "BailingMoeV3ForCausalLM", "InternS2MobiusForConditionalGeneration",
                "MuseGlimmerForCausalLM",
            ),
            "0.28",
        ),
        **dict.fromkeys(
            (
                "DeepseekV3BidirectionalModel", "NemotronH_Omni_Reasoning_V3",
                "Qwen4ExpForCausalLM", "Qwen4ExpForConditionalGeneration",
            ),
            "0.29",
        ),
        **dict.fromkeys(
            (
                "BailingMoeV3VLForConditionalGeneration", "DeepseekV41ForCausalLM",
                "Glm5NextForCausalLM", "K2HorizonForCausalLM",
            ),
            "0.30",
        ),
        **dict.fromkeys(
            (
                "ClefOmniForJointSchema", "MiniCPMV4_7ForConditionalGeneration",
            ),
            "0.32",
        ),
        **dict.fromkeys(
            (
                "AliceAIForCausalLM", "Alpamayo2Super", "ClefFlashForJointSchema",
                "ColUltraVBertForRetrieval", "D3ForSequenceClassification", "DomynEdgeForCausalLM",
                "Lfm2BidirectionalModel", "MiniCPMOcrForConditionalGeneration",
                "RadioMBartPrefixForCausalLM", "Step5ForCausalLM", "Step5ForConditionalGeneration",
            ),
            "0.33",
        ),
    }
)  # fmt: skip
"""Class -> the first version with it."""


def comes_later(architecture: str | None, version: str) -> str | None:
    """Return the version that a class came with, or None where this one may have it."""
    first = FIRST_IN_VLLM.get(architecture or "", "0")
    return first if _number(version)[:2] < _number(first) else None


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
