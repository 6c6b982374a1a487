"""What the native engine of this version can do on each kind of GPU."""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.facts.gpus import CPU, GPUS
from controlplane.domain.facts.quantization import BFLOAT16_CAPABILITY
from controlplane.domain.runtimes.capability import (
    Capability,
    Feature,
    emulated,
    native,
    refused,
    seen,
)
from controlplane.domain.runtimes.native.proofs import PROOFS

VERSION = "0.1"
VERSIONS = (VERSION,)
SEEN_VERSION = VERSION
RUN_BY_US = (
    "in every test, on a CPU; on one H200 behind the gateway, 2026-11-28, its answers those of "
    "Transformers"
)

GENERATED = frozenset({
    "Gemma2ForCausalLM", "Gemma3ForCausalLM", "LlamaForCausalLM", "MistralForCausalLM",
    "Phi3ForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM",
})  # fmt: skip
"""The classes whose greedy answers the tests compare with Transformers' own."""

POOLED_FAMILIES = (
    "Albert", "Bert", "Camembert", "DebertaV2", "DistilBert", "Electra", "EuroBert", "Gemma",
    "Gemma2", "Gemma3Text", "Gte", "JinaEmbeddingsV3", "Llama", "MPNet", "Mistral", "ModernBert",
    "NomicBert", "Qwen2", "Qwen3", "Roberta", "XLMRoberta",
)  # fmt: skip
"""The shapes whose vectors and scores the tests compare with Transformers' own."""

POOLED_HEADS = (
    "Model", "ForCausalLM", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification",
)  # fmt: skip


def pools(architecture: str) -> bool:
    head = next((head for head in POOLED_HEADS if architecture.endswith(head)), None)
    return head is not None and architecture.removesuffix(head) in POOLED_FAMILIES


ON_CPU: Mapping[Feature, Capability] = MappingProxyType(
    {
        Feature.CHAT: native("by the checkpoint's own chat template"),
        Feature.COMPLETIONS: native("as given"),
        Feature.STRUCTURED_OUTPUT: native("llguidance masks tokens before sampling"),
        Feature.CHUNKED_PREFILL: native("prompts enter in pieces of `max_num_tokens`"),
        Feature.TOOLS: native("calls are read in the form that the chat template teaches"),
        Feature.LOOKAHEAD: native(
            "what followed the same `lookahead_ngram_size` tokens before is verified in one forward"
        ),
        Feature.ADAPTERS: native("each row of a batch by its `model`, LoRA of PEFT"),
        Feature.TENSOR_PARALLEL: refused("one process computes the whole model"),
        Feature.PIPELINE_PARALLEL: refused("one process computes the whole model"),
        Feature.POOLING: native("texts of all lengths share a forward, without padding"),
        Feature.MULTIMODAL: refused("only text goes in"),
        Feature.FP8_WEIGHTS: emulated("FP8 weights are expanded, inputs rounded to FP8"),
        Feature.FP8_BLOCK_WEIGHTS: emulated(
            "FP8 weights are expanded block by block, inputs rounded to FP8 by 128 numbers of a "
            "token"
        ),
        Feature.FP8_KV_CACHE: emulated(
            "keys and values are rounded to FP8 and kept in what the engine computes in"
        ),
        Feature.FP4_WEIGHTS: emulated("NVFP4 weights are expanded, inputs rounded by blocks"),
        Feature.MIXED_WEIGHTS: emulated(
            "each layer is expanded from its own number, its inputs rounded to that"
        ),
        Feature.INT4_WEIGHTS: emulated("INT4 weights are expanded"),
        Feature.INT4_WEIGHTS_FP8_INPUTS: emulated(
            "INT4 weights are expanded, inputs rounded to FP8 by token"
        ),
        Feature.ACCELERATOR: native("none is needed; in bfloat16 where the processor has it"),
        Feature.HOST_KV_CACHE: native("all of the KV cache is in host memory"),
        Feature.ENGINE_ARGUMENTS: refused("it has no further arguments"),
    }
)


ON_GPU: Mapping[Feature, Capability] = MappingProxyType(
    {
        **ON_CPU,
        Feature.ACCELERATOR: native(
            "one NVIDIA GPU from compute "
            "capability 8.0 on, in bfloat16, step by step and not made for speed"
        ),
        Feature.FP8_WEIGHTS: emulated(
            "on a GPU so too, but an encoder's are multiplied as they are stored from compute "
            "capability 8.9 on"
        ),
        Feature.HOST_KV_CACHE: refused("all of the KV cache is on the GPU"),
    }
)
"""The same code on one GPU."""


def capability(feature: Feature, device_kind: str = CPU, version: str = VERSION) -> Capability:
    proofs, gpu = PROOFS.get(feature, ()), GPUS.get(device_kind)
    if device_kind == CPU:
        return seen(ON_CPU[feature], proofs, version=version, compute_capability=None)
    if gpu is not None and gpu.compute_capability and not gpu.has_capability(*BFLOAT16_CAPABILITY):
        return refused("it needs compute capability 8.0, as older GPUs do not compute in bfloat16")
    # A kind that is not known has no capability; nothing was seen on it.
    of_device = (gpu.compute_capability if gpu else None) or (0, 0)
    return seen(ON_GPU[feature], proofs, version=version, compute_capability=of_device)
