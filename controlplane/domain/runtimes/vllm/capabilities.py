from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.facts import sources
from controlplane.domain.facts.gpus import CPU, PLANNABLE_GPUS
from controlplane.domain.facts.quantization import FP4_CAPABILITY, FP8_CAPABILITY
from controlplane.domain.runtimes.capability import (
    HOPPER,
    Capability,
    Feature,
    emulated,
    native,
    refused,
    seen,
)
from controlplane.domain.runtimes.vllm.drafter import lookahead_capability
from controlplane.domain.runtimes.vllm.memory import (
    EXPANDED_FP4_CAPABILITY,
    EXPANDED_FP8_CAPABILITY,
)
from controlplane.domain.runtimes.vllm.proofs import PROOFS

VERSIONS = tuple(f"0.{minor}" for minor in range(25, 34))
VERSION = VERSIONS[-1]
SEEN_VERSION = "0.25"
"""The one that was run by us."""
RUN_BY_US = (
    "0.25.1 by itself on one H100, 2026-11-27; from a build's artifact and behind the gateway on "
    "one H200, 2026-11-28"
)
OLDEST_DEVICE = (7, 5)
EXPANDS_FP8_SINCE = "0.27"
"""The first version that loads ModelOpt's FP8 weights on a GPU without FP8 arithmetic."""

_DOCS = sources.vllm("installation, GPU requirements")
_KERNELS = sources.measured("artifacts made on a CPU, loaded by vLLM 0.25.1 on an H100")
_LOADERS = sources.vllm("model_executor/layers/quantization/modelopt.py, get_min_capability")
_MIXED = sources.vllm(
    "model_executor/layers/quantization/modelopt.py, ModelOptMixedPrecisionConfig",
    checked="2026-11-30",
)
_PACKED = sources.vllm(
    "compressed_tensors/schemes/compressed_tensors_wNa16.py and compressed_tensors_w4a8_fp8.py"
)
_BLOCKS = sources.vllm(
    "model_executor/layers/quantization/fp8.py, Fp8Config; kernels/linear/scaled_mm",
    checked="2026-11-30",
)
_CACHES = sources.vllm("v1/attention/backends/{flashinfer,triton_attn}.py")
_WITHOUT_DEVICES: Mapping[Feature, Capability] = MappingProxyType(
    {
        Feature.CHAT: native("by the checkpoint's own chat template", sources.vllm("server")),
        Feature.COMPLETIONS: native("as given", sources.vllm("server")),
        Feature.STRUCTURED_OUTPUT: native(
            "xgrammar masks tokens before sampling, under drafts too",
            sources.vllm("v1/structured_output"),
        ),
        Feature.CHUNKED_PREFILL: native(
            "prompts enter in pieces of `max_num_tokens`", sources.vllm("SchedulerConfig")
        ),
        Feature.TOOLS: native(
            "by the parser that reads what the chat template teaches, or the one that the config "
            "names; a check says where none does",
            sources.vllm("tool_parsers/__init__.py"),
        ),
        Feature.ADAPTERS: native(
            "`--lora-modules`, chosen by the model's name; the rank is rounded up to one it takes",
            sources.vllm("LoRAConfig"),
        ),
        Feature.TENSOR_PARALLEL: native("over the GPUs of one host", sources.vllm("parallelism")),
        Feature.PIPELINE_PARALLEL: native("without drafts", sources.vllm("parallelism")),
        Feature.POOLING: native(
            "`--runner pooling`: vectors, ranks and labels of texts", sources.vllm("pooling models")
        ),
        Feature.MULTIMODAL: native(
            "for the classes of its list; the memory plan counts their text part",
            sources.vllm("supported models"),
        ),
        Feature.HOST_KV_CACHE: native("`--kv-offloading-size`", sources.vllm("CacheConfig")),
        Feature.ENGINE_ARGUMENTS: emulated(
            "names of TensorRT-LLM are translated where there is a counterpart; a check lists the "
            "others",
            sources.enginehouse("engine arguments of the v2 stack under vLLM"),
        ),
        Feature.ACCELERATOR: native("NVIDIA GPUs from compute capability 7.5 on", _DOCS),
    }
)


def capability(feature: Feature, device_kind: str = "H100", version: str = VERSION) -> Capability:
    if version not in VERSIONS:
        return refused(f"versions {VERSIONS[0]} to {VERSIONS[-1]} are known here", _DOCS)
    if device_kind == CPU:
        return refused(
            "on a CPU the native engine serves; vLLM's CPU build has no kernel for FP8 artifacts",
            sources.measured("vLLM's CPU build and FP8 artifacts"),
        )
    gpu = PLANNABLE_GPUS.get(device_kind)
    if gpu is None or gpu.compute_capability is None:
        return refused(f"nothing is known about `{device_kind}`", _DOCS)
    if not gpu.has_capability(*OLDEST_DEVICE):
        return refused(f"it needs compute capability 7.5, and {gpu.kind} has "
                       f"{gpu.capability_text}", _DOCS)  # fmt: skip
    if feature is Feature.LOOKAHEAD:
        known = lookahead_capability(version)
    else:
        known = _by_device(feature, gpu.compute_capability, version) or _WITHOUT_DEVICES[feature]
    return seen(
        known, PROOFS.get(feature, ()),
        version=version, compute_capability=gpu.compute_capability,
    )  # fmt: skip


def expands_fp8(version: str) -> bool:
    """Return whether this version computes ModelOpt's FP8 weights in 16 bits on older GPUs."""
    return VERSIONS.index(version) >= VERSIONS.index(EXPANDS_FP8_SINCE)


def _by_device(feature: Feature, has: tuple[int, int], version: str) -> Capability | None:
    match feature:
        case Feature.FP8_WEIGHTS:
            expands = EXPANDED_FP8_CAPABILITY if expands_fp8(version) else FP8_CAPABILITY
            return _weights("FP8", has, FP8_CAPABILITY, expands, f" (from {EXPANDS_FP8_SINCE} on)")
        case Feature.FP4_WEIGHTS:
            return _weights("NVFP4", has, FP4_CAPABILITY, EXPANDED_FP4_CAPABILITY)
        case Feature.MIXED_WEIGHTS:
            return _mixed(has)
        case Feature.INT4_WEIGHTS:
            kernel = "Machete" if has == HOPPER else "Marlin"
            return native(
                f"packed integers of compressed-tensors, computed in 16 bits by {kernel}: memory "
                "saved, no faster arithmetic", _PACKED,
            )  # fmt: skip
        case Feature.INT4_WEIGHTS_FP8_INPUTS:
            return _int4_with_fp8_inputs(has)
        case Feature.FP8_BLOCK_WEIGHTS:
            return _fp8_blocks(has)
        case Feature.FP8_KV_CACHE:
            return _fp8_cache(has)
    return None


def _weights(
    name: str,
    has: tuple[int, int],
    needed: tuple[int, int],
    expanded: tuple[int, int],
    since: str = "",
) -> Capability:
    if has >= needed:
        return native(f"in {name} arithmetic", _KERNELS)
    if has >= expanded:
        return emulated(
            f"{name} weights in memory, computed in 16 bits by Marlin{since}: memory saved, no "
            "faster arithmetic",
            _LOADERS,
        )
    least = ".".join(map(str, expanded))
    return refused(
        f"ModelOpt's {name} weights, as builds make them, need compute capability {least}", _LOADERS
    )


def _mixed(has: tuple[int, int]) -> Capability:
    """Return what `modelopt_mixed` is; its own least is that of FP8 arithmetic in all versions."""
    if has >= FP4_CAPABILITY:
        return native("each layer in its own arithmetic (`modelopt_mixed`)", _MIXED)
    if has >= FP8_CAPABILITY:
        return emulated("FP8 layers in FP8 arithmetic, NVFP4 layers in 16 bits by Marlin", _MIXED)
    return refused("a mixture of FP8 and NVFP4 weights needs compute capability 8.9", _MIXED)


def _fp8_blocks(has: tuple[int, int]) -> Capability:
    if has >= FP8_CAPABILITY:
        return native(
            "FP8 weights with a scale per block of 128 x 128, inputs rounded with a scale per 128 "
            "numbers of a token: DeepGEMM, CUTLASS or Triton",
            _BLOCKS,
        )
    return emulated(
        "FP8 weights in memory, computed in 16 bits by Marlin: memory saved, no faster arithmetic",
        _BLOCKS,
    )


def _int4_with_fp8_inputs(has: tuple[int, int]) -> Capability:
    if has == HOPPER:
        return native("packed integers times FP8 inputs, by CUTLASS", _PACKED)
    return refused(
        "its kernel for INT4 weights with FP8 inputs is for compute capability 9.0 alone (H100, "
        "H200)",
        _PACKED,
    )


def _fp8_cache(has: tuple[int, int]) -> Capability:
    if has >= FP8_CAPABILITY:
        return native("keys and values in E4M3, with the artifact's scales", _KERNELS)
    return refused(
        "E4M3 keys and values need compute capability 8.9: vLLM's own kernels refuse them below, "
        "and only FlashInfer's take them from 8.0 on, which `attention-backend: FLASHINFER` names",
        _CACHES,
    )
