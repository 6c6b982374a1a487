"""Classes that vLLM had and gave up, none of which its Transformers backend takes over.

Source: `_PREVIOUSLY_SUPPORTED_MODELS` of vLLM's `models/registry.py`, read 2026-11-30.
"""

from collections.abc import Mapping
from types import MappingProxyType

LAST_IN_VLLM: Mapping[str, str] = MappingProxyType(
    {
        "BartForConditionalGeneration": "0.10.2",
        "BartModel": "0.10.2",
        "DonutForConditionalGeneration": "0.10.2",
        "Florence2ForConditionalGeneration": "0.10.2",
        "MBartForConditionalGeneration": "0.10.2",
        "MllamaForConditionalGeneration": "0.10.2",
        "MotifForCausalLM": "0.10.2",
        "Phi3SmallForCausalLM": "0.9.2",
        "Phi4FlashForCausalLM": "0.10.2",
        "Phi4MultimodalForCausalLM": "0.12.0",
    }
)
"""Class -> the last version that loads it; later ones fail to start."""
