"""Which type of numbers vLLM computes a model in, as it chooses where a config names none.

Source: `_resolve_auto_dtype` and `_FLOAT16_NOT_SUPPORTED_MODELS` of `config/model.py`, vLLM 0.25.1
to 0.33.0, checked 2026-11-30.
"""

from controlplane.domain.facts.checkpoint_facts import CheckpointFacts
from controlplane.domain.facts.gpus import Gpu
from controlplane.domain.facts.quantization import BFLOAT16_CAPABILITY
from controlplane.domain.facts.vllm_quantization import computes_in

NOT_IN_FLOAT16 = ("gemma2", "gemma3", "gemma3_text", "glm4")
"""Types of models that answer nonsense in float16, so that vLLM refuses it for them."""


def chosen_type(model_type: str | None, stored: str | None, gpu: Gpu) -> str:
    has_bfloat16 = gpu.has_capability(*BFLOAT16_CAPABILITY)
    if not has_bfloat16:
        return "float32" if model_type in NOT_IN_FLOAT16 else "float16"
    return "float16" if stored == "float16" and model_type not in NOT_IN_FLOAT16 else "bfloat16"


def refused_type(checkpoint: CheckpointFacts, gpu: Gpu, requested: str | None = None) -> str | None:
    existing = checkpoint.existing_quantization
    if existing is None or gpu.compute_capability is None:
        return None
    chosen = requested or chosen_type(checkpoint.model_type, checkpoint.dtype, gpu)
    return None if computes_in(existing, chosen) else chosen
