"""Arguments of vLLM that a config may pass on by their own names, with type and versions.

A list of what passes: what the program itself sets, loads code, names a file, a host or a port, or
shows what users send is not on it. Source: the arguments of vLLM 0.25.1 to 0.33.0
(`engine/arg_utils.py`, the types of `config/` and the server's `cli_args.py`), checked 2026-11-30.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Kind(StrEnum):
    SWITCH = "`true` or `false`"
    INTEGER = "a whole number"
    NUMBER = "a number"
    TEXT = "a text"
    TEXTS = "a list of texts"
    INTEGERS = "a list of whole numbers"
    MAPPING = "a mapping"


_NAMES: Mapping[Kind, str] = {
    Kind.SWITCH: (
        "async-scheduling calculate-kv-scales cohere-is-reasoning-model cudagraph-metrics "
        "dcp-q-replicate disable-cascade-attn disable-chunked-mm-input "
        "disable-custom-all-reduce disable-hybrid-kv-cache-manager disable-sliding-window "
        "enable-batch-sharded-sampling enable-bf16x3-router-gemm enable-cumem-allocator "
        "enable-dbo enable-ep-weight-filter enable-eplb enable-flash-late-interaction "
        "enable-flashinfer-autotune enable-hc-sp enable-mamba-cache-stochastic-rounding "
        "enable-mamba-fine-grained-prefix-cache enable-mamba-shared-prefix-checkpoint "
        "enable-mfu-metrics enable-mixed-moe-lora-format enable-moe-shared-loras "
        "enable-prefix-caching enable-prompt-tokens-details enable-return-routed-experts "
        "enable-shm-tensor-arena enable-sleep-mode enable-tower-connector-lora enforce-eager "
        "exclude-tools-when-tool-choice-none fully-sharded-loras interleave-mm-strings "
        "kv-cache-metrics kv-sharing-fast-prefill language-model-only "
        "long-prefill-token-threshold-adaptive mm-encoder-only monokernel return-sampling-mask "
        "return-tokens-as-token-ids scheduler-reserve-full-isl skip-mm-profiling "
        "specialize-active-lora swa-bounded-replay use-fp64-gumbel use-replayssm"
    ),
    Kind.INTEGER: (
        "block-size cp-kv-cache-interleave-size dbo-decode-token-threshold "
        "dbo-prefill-token-threshold dcp-kv-cache-interleave-size decode-context-parallel-size "
        "long-prefill-token-threshold mamba-block-size mamba-cache-philox-rounds max-cpu-loras "
        "max-cudagraph-capture-size max-logprobs max-long-partial-prefills max-lora-cls-labels "
        "max-loras max-num-partial-prefills max-num-scheduled-tokens "
        "mm-shm-cache-max-object-size-mb num-gpu-blocks-override offload-group-size "
        "offload-num-in-group offload-prefetch-step optimization-level "
        "prefill-schedule-interval prefix-cache-retention-interval prefix-match-unit "
        "replayssm-buffer-len safetensors-prefetch-block-size safetensors-prefetch-num-threads "
        "seed stream-interval ubatch-size"
    ),
    Kind.NUMBER: (
        "cpu-offload-gb kv-cache-metrics-sample mm-processor-cache-gb video-pruning-rate watermark"
    ),
    Kind.TEXT: (
        "all2all-backend attention-backend chat-template-content-format cohere-format "
        "dcp-comm-backend dtype expert-placement-strategy gdn-prefill-backend "
        "generation-config kda-decode-backend kda-prefill-backend linear-backend logprobs-mode "
        "lora-dtype mamba-backend mamba-cache-dtype mamba-cache-mode mamba-ssm-cache-dtype "
        "mamba-ssu-algorithm mm-encoder-attn-backend mm-encoder-tp-mode "
        "mm-processor-cache-type model-impl moe-backend offload-backend "
        "override-attention-dtype per-request-spec-decode-metrics performance-mode "
        "prefix-caching-hash-algo reasoning-parser response-role safetensors-load-strategy "
        "scheduling-policy show-hidden-metrics-for-version sparse-indexer-topk-backend "
        "tokenizer-mode tool-call-parser"
    ),
    Kind.TEXTS: (
        "cpu-offload-params kv-cache-dtype-skip-layers lora-target-modules offload-params"
    ),
    Kind.INTEGERS: ("cudagraph-capture-sizes"),
    Kind.MAPPING: (
        "attention-config compilation-config default-chat-template-kwargs diffusion-config "
        "engram-config eplb-config hf-overrides ir-op-priority kernel-config "
        "limit-mm-per-prompt media-io-kwargs mm-processor-kwargs override-generation-config "
        "pooler-config reasoning-config structured-outputs-config watchdog-config"
    ),
}
KINDS: Mapping[str, Kind] = MappingProxyType(
    {name: kind for kind, names in _NAMES.items() for name in names.split()}
)
"""Argument -> what its value has to be."""

_WORDS: Mapping[str, str] = {
    "all2all-backend": (
        "naive pplx deepep_high_throughput deepep_low_latency deepep_v2 mori_high_throughput "
        "mori_low_latency moonep nixl_ep allgather_reducescatter flashinfer_all2allv "
        "flashinfer_nvlink_two_sided flashinfer_nvlink_one_sided passthrough"
    ),
    "chat-template-content-format": "auto string openai",
    "dcp-comm-backend": "ag_rs a2a",
    "dtype": "auto half float16 bfloat16",
    "expert-placement-strategy": "linear round_robin",
    "gdn-prefill-backend": "flashinfer triton cutedsl",
    "generation-config": "auto vllm",
    "kda-decode-backend": "auto native flashinfer triton",
    "kda-prefill-backend": "auto triton flashkda flashinfer",
    "logprobs-mode": "raw_logits raw_logprobs processed_logits processed_logprobs",
    "mamba-cache-dtype": "auto float32 float16 bfloat16",
    "mamba-cache-mode": "all align none",
    "mamba-ssm-cache-dtype": "auto float32 float16 bfloat16",
    "mamba-ssu-algorithm": "auto simple vertical horizontal",
    "mm-encoder-tp-mode": "weights data",
    "model-impl": "auto vllm transformers terratorch",
    "mm-processor-cache-type": "shm lru",
    "offload-backend": "auto uva prefetch",
    "per-request-spec-decode-metrics": "none summary detailed",
    "performance-mode": "balanced interactivity throughput",
    "prefix-caching-hash-algo": "sha256 sha256_cbor xxhash xxhash_cbor",
    "safetensors-load-strategy": "lazy eager prefetch torchao",
    "scheduling-policy": "fcfs priority",
    "tokenizer-mode": (
        "auto hf slow mistral deepseek_v32 deepseek_v4 deepseek_v41 inkling kimi_audio kimi_k3 "
        "cohere alpamayo2_super"
    ),
}
WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: tuple(words.split()) for name, words in _WORDS.items()}
)
"""The words that a text may be, where vLLM itself lists them."""

_KERNELS: Mapping[str, str] = {
    "attention-backend": (
        "auto AMX_MLA B12X CPU_ATTN CPU_MLA CUSTOM CUTLASS_MLA CUTLASS_MSA FLASHINFER "
        "FLASHINFER_MLA FLASHINFER_MLA_SPARSE FLASHINFER_MLA_SPARSE_DSV4 "
        "FLASHINFER_MLA_SPARSE_DSV41 FLASHINFER_MLA_SPARSE_SM120 FLASHINFER_MLA_SPARSE_SM90 "
        "FLASHMLA FLASHMLA_MEGA_ATTN_DSV41 FLASHMLA_SPARSE FLASHMLA_SPARSE_DSV4 "
        "FLASHMLA_SPARSE_DSV41 FLASH_ATTN FLASH_ATTN_DIFFKV FLASH_ATTN_MLA FLASH_ATTN_MLA_SPARSE "
        "FLASH_ATTN_MLA_SPARSE_FA4 FLEX_ATTENTION HPC_ATTN MINIMAX_M3_SPARSE NO_ATTENTION "
        "STEP5_DSA TOKENSPEED_MLA TORCH_SDPA TRITON_ATTN TRITON_ATTN_DIFFKV TRITON_FLASHINFER "
        "TRITON_FLASH_ATTN TRITON_MLA TRITON_MSA TURBOQUANT ULTRAQUANT"
    ),
    "linear-backend": (
        "auto b12x conch cutlass deep_gemm emulation exllama fbgemm flashinfer_b12x "
        "flashinfer_cudnn flashinfer_cutedsl flashinfer_cutlass flashinfer_trtllm humming machete "
        "marlin torch triton"
    ),
    "mamba-backend": "cpu flashinfer triton",
    "mm-encoder-attn-backend": "flash_attn flashinfer torch_sdpa triton_attn",
    "moe-backend": (
        "auto b12x batched_triton cutlass deep_gemm deep_gemm_mega_moe emulation flashinfer_b12x "
        "flashinfer_cutedsl flashinfer_cutlass flashinfer_moe_ep_cutedsl "
        "flashinfer_moe_ep_mega_cutedsl flashinfer_moe_ep_mega_deep_gemm flashinfer_trtllm hpc "
        "humming marlin triton triton_unfused"
    ),
}
KERNELS: Mapping[str, frozenset[str]] = MappingProxyType(
    {name: frozenset(words.lower().split()) for name, words in _KERNELS.items()}
)
"""Kernels that an argument may name, in any case and with `-` for `_`; those of NVIDIA GPUs."""
STEPS: Mapping[str, tuple[int, int | None, int]] = MappingProxyType(
    {"block-size": (16, None, 16), "optimization-level": (0, 3, 1)}
)
"""The least and the most that a number may be, and between which it goes by steps of what."""

VERSIONS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "calculate-kv-scales": ("0.25", "0.27"),
        "cohere-format": ("0.27", "0.33"),
        "cohere-is-reasoning-model": ("0.27", "0.33"),
        "dcp-q-replicate": ("0.29", "0.33"),
        "enable-batch-sharded-sampling": ("0.29", "0.33"),
        "enable-bf16x3-router-gemm": ("0.26", "0.29"),
        "enable-hc-sp": ("0.32", "0.33"),
        "enable-mamba-fine-grained-prefix-cache": ("0.30", "0.30"),
        "enable-mamba-shared-prefix-checkpoint": ("0.31", "0.33"),
        "enable-moe-shared-loras": ("0.26", "0.33"),
        "enable-shm-tensor-arena": ("0.32", "0.33"),
        "engram-config": ("0.30", "0.33"),
        "kda-decode-backend": ("0.30", "0.33"),
        "kda-prefill-backend": ("0.27", "0.33"),
        "long-prefill-token-threshold-adaptive": ("0.31", "0.33"),
        "mamba-ssu-algorithm": ("0.27", "0.33"),
        "max-long-partial-prefills": ("0.25", "0.26"),
        "max-lora-cls-labels": ("0.31", "0.33"),
        "max-num-partial-prefills": ("0.25", "0.26"),
        "max-num-scheduled-tokens": ("0.26", "0.33"),
        "monokernel": ("0.33", "0.33"),
        "override-attention-dtype": ("0.25", "0.27"),
        "per-request-spec-decode-metrics": ("0.29", "0.33"),
        "prefix-cache-retention-interval": ("0.29", "0.33"),
        "prefix-match-unit": ("0.26", "0.33"),
        "replayssm-buffer-len": ("0.27", "0.33"),
        "return-sampling-mask": ("0.28", "0.33"),
        "sparse-indexer-topk-backend": ("0.30", "0.33"),
        "swa-bounded-replay": ("0.31", "0.33"),
        "use-replayssm": ("0.27", "0.33"),
        "watchdog-config": ("0.33", "0.33"),
    }
)
"""The first and the last version of those known here that has it; all have the others."""
