"""Classes that came to vLLM after the versions that hosts may run, by the last one without them.

Source: `models/registry.py` of vLLM 0.25.1, 0.29.0 and 0.33.0, read 2026-11-30; none of them is a
class of transformers, which vLLM would take instead.
"""

from collections.abc import Mapping
from types import MappingProxyType

_WITHOUT: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "BailingMoeV3ForCausalLM", "InternS2MobiusForConditionalGeneration",
                "KimiK3ForConditionalGeneration", "LongcatFlashNgramForCausalLM",
                "MuseGlimmerForCausalLM",
            ),
            ("0.25.1", "0.29"),
        ),
        **dict.fromkeys(
            (
                "AliceAIForCausalLM", "BailingMoeV3VLForConditionalGeneration",
                "DeepseekV41ForCausalLM", "DeepseekV4ForConditionalGeneration",
                "DomynEdgeForCausalLM", "Glm5NextForCausalLM", "K2HorizonForCausalLM",
                "Step5ForCausalLM", "Step5ForConditionalGeneration",
            ),
            ("0.29", "0.33"),
        ),
    }
)  # fmt: skip


def comes_later(architecture: str | None, version: str) -> str | None:
    """Return a later vLLM that has a class, or None where this one may have it."""
    last_without, seen_with = _WITHOUT.get(architecture or "", ("0", ""))
    return seen_with if _number(version) <= _number(last_without) else None


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
