"""What TensorRT-LLM's PyTorch backend can do, by version and kind of GPU. Not yet run by us."""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.facts import sources
from controlplane.domain.facts.gpus import CPU, PLANNABLE_GPUS
from controlplane.domain.facts.quantization import (
    BFLOAT16_CAPABILITY,
    FP4_CAPABILITY,
    FP8_CAPABILITY,
)
from controlplane.domain.runtimes.capability import (
    Capability,
    Feature,
    emulated,
    native,
    refused,
    seen,
)
from controlplane.domain.runtimes.trtllm.proofs import PROOFS

VERSIONS = ("1.2", "1.3", "1.4")
VERSION = VERSIONS[0]
"""The newest release that is not a candidate."""
SEEN_VERSION = VERSION
RUN_BY_US: str | None = None
NOT_YET_RUN = "not yet run by us"
TOOL_PARSERS = ("qwen3", "qwen3_coder", "kimi_k2", "deepseekv3", "deepseekv3.1", "deepseek_v32")

_SERVER = sources.tensorrt_llm("serve/openai_server.py")
_ARGUMENTS = sources.tensorrt_llm("TorchLlmArgs")
_MATRIX = sources.tensorrt_llm("feature combination matrix")
_PRECISIONS = sources.tensorrt_llm("quantization, support matrix 1.2.1")
_BLOCKS = sources.tensorrt_llm("quantization, hardware support matrix, FP8 block scaling")
_SPECULATION = sources.tensorrt_llm("speculative_config")
_WITHOUT_DEVICES: Mapping[Feature, Capability] = MappingProxyType(
    {
        Feature.CHAT: native("by the checkpoint's own chat template", _SERVER),
        Feature.COMPLETIONS: native("as given", _SERVER),
        Feature.CHUNKED_PREFILL: native("`enable_chunked_prefill`, always written out", _ARGUMENTS),
        Feature.TOOLS: native(
            "where `patch_kwargs` names a `tool_parser`: " + ", ".join(TOOL_PARSERS), _SERVER
        ),
        Feature.ADAPTERS: refused(
            "it loads them by `lora_config`, but wants the adapter's folder in each request, which "
            "the gateway does not know: it refuses such requests",
            sources.tensorrt_llm("LoRA"),
        ),
        Feature.TENSOR_PARALLEL: native("over the GPUs of one host, by MPI", _ARGUMENTS),
        Feature.PIPELINE_PARALLEL: native("without drafts", _MATRIX),
        Feature.POOLING: refused(
            "its server has no route for embeddings, reranking or labels", _SERVER
        ),
        Feature.MULTIMODAL: native(
            "for the classes of its list; the memory plan counts their text part",
            sources.tensorrt_llm("supported models"),
        ),
        Feature.HOST_KV_CACHE: native(
            "`kv_cache_config.host_cache_size`, with block reuse", _ARGUMENTS
        ),
        Feature.ENGINE_ARGUMENTS: native(
            "as given, where this version has them; a check lists the others", _ARGUMENTS
        ),
        Feature.ACCELERATOR: native("NVIDIA GPUs from compute capability 8.0 on", _PRECISIONS),
    }
)


def capability(feature: Feature, device_kind: str = "H100", version: str = VERSION) -> Capability:
    if version not in VERSIONS:
        return refused(f"versions {', '.join(VERSIONS)} are known here", _ARGUMENTS)
    if device_kind == CPU:
        return refused("it runs on NVIDIA GPUs only", _PRECISIONS)
    gpu = PLANNABLE_GPUS.get(device_kind)
    if gpu is None or gpu.compute_capability is None:
        return refused(f"nothing is known about `{device_kind}`", _PRECISIONS)
    if not gpu.has_capability(*BFLOAT16_CAPABILITY):
        return refused(f"it needs compute capability 8.0, and {gpu.kind} has "
                       f"{gpu.capability_text}", _PRECISIONS)  # fmt: skip
    known = _by_version(feature, version) or _by_device(feature, gpu.compute_capability)
    return seen(
        known or _WITHOUT_DEVICES[feature], PROOFS.get(feature, ()),
        version=version, compute_capability=gpu.compute_capability,
    )  # fmt: skip


def _by_version(feature: Feature, version: str) -> Capability | None:
    match feature:
        case Feature.LOOKAHEAD if has_suffix_automaton(version):
            return emulated("a suffix automaton (`SA`) drafts as many tokens", _SPECULATION)
        case Feature.LOOKAHEAD:
            return emulated("`NGram` drafts as many tokens, without overlap scheduler",
                            _SPECULATION)  # fmt: skip
        case Feature.STRUCTURED_OUTPUT if version == "1.2":
            return emulated(
                "xgrammar; the server of 1.2.1 loses the schema inside `json_schema`, so the "
                "gateway gives it bare",
                sources.tensorrt_llm("NVIDIA/TensorRT#4855"),
            )
        case Feature.STRUCTURED_OUTPUT:
            return native("xgrammar masks tokens before sampling", _ARGUMENTS)
    return None


def has_suffix_automaton(version: str) -> bool:
    """Return whether `decoding_type: SA` is there, which came with 1.3."""
    return version != "1.2"


def _by_device(feature: Feature, has: tuple[int, int]) -> Capability | None:
    match feature:
        case Feature.FP8_WEIGHTS:
            return _from("FP8 weights", has, FP8_CAPABILITY)
        case Feature.FP8_BLOCK_WEIGHTS:
            return _fp8_blocks(has)
        case Feature.FP4_WEIGHTS:
            return _from("NVFP4 weights", has, FP4_CAPABILITY)
        case Feature.MIXED_WEIGHTS:
            return _from("FP8 and NVFP4 weights mixed", has, FP4_CAPABILITY)
        case Feature.INT4_WEIGHTS | Feature.INT4_WEIGHTS_FP8_INPUTS:
            return refused(
                "builds write INT4 in the format of compressed-tensors, which vLLM loads; "
                "TensorRT-LLM loads ModelOpt's format instead", _PRECISIONS,
            )  # fmt: skip
        case Feature.FP8_KV_CACHE if has < FP8_CAPABILITY:
            return emulated("keys and values in FP8 in memory, computed in 16 bits", _PRECISIONS)
        case Feature.FP8_KV_CACHE:
            return native("keys and values in FP8", _PRECISIONS)
    return None


def _fp8_blocks(has: tuple[int, int]) -> Capability:
    """Return what its matrix of formats and GPUs says, which has no row for other families."""
    if has[:1] in ((9,), (10,)):
        return native("FP8 weights with a scale per block of 128 x 128", _BLOCKS)
    return refused(
        "FP8 weights in blocks run on compute capability 9.0 and 10.x alone (H100, H200, B200)",
        _BLOCKS,
    )


def _from(what: str, has: tuple[int, int], needed: tuple[int, int]) -> Capability:
    if has >= needed:
        return native(f"{what} in their own arithmetic", _PRECISIONS)
    return refused(f"{what} need compute capability {'.'.join(map(str, needed))}", _PRECISIONS)
