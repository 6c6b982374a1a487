"""Why most flags of `vllm serve` have no place in a config.

Source: the argument parsers of vLLM 0.25.1 to 0.33.0, checked 2026-11-28, and the public commands
in the tests' data.
"""

from collections.abc import Mapping
from types import MappingProxyType

_GATEWAY = "The gateway listens for this model; engines listen where their agent tells them."
_ACCESS = "Keys, limits and allowed origins are the gateway's."
_LOGS = "Logs and traces of engines are collected by their agent."
_METRICS = "Metrics are read from every engine anyway."
_TUNING = "The runtime's driver decides how the engine compiles, schedules and places its kernels."
_PARSER = "Which parser reads an answer is a setting; how it goes about it is the parser's own."
_THINKING = "vLLM gave it up with 0.10: a `reasoning-parser` says it alone."
_OWN_PARSER = "A file with a parser of one's own is not loaded; name one that vLLM has."
_TEMPLATE_VALUES = "Each request gives `chat_template_kwargs` as it wants."
_POOLER = "How an encoder pools stands in its checkpoint (`1_Pooling/config.json`)."
_TEMPLATE = "The chat template is the checkpoint's own."
_TOKENIZER = "The tokenizer is the checkpoint's own."
_MEDIA = "Only text is planned for; settings of image and audio inputs have no place."
_CODE = "Code from a repository runs only where an admin has granted it at its commit."
_TOPOLOGY = "Hosts and processes are arranged by the deployment, not by the config."
_REPLICAS = "Copies of the model are replicas of its deployment, not a setting of the engine."
_DISAGGREGATED = "Moving the KV cache between engines is not a setting of one config."
_REUSE = "Prefixes are reused by every runtime here; there is no switch."
_BUILD = "The build loads the checkpoint itself; `quantization_type` alone says its precision."
_LORA = "Adapters are fixed at build time, so their caches are sized from `lora_adapters`."
_OFFLOAD = "Weights stay on the GPUs; the memory plan says how many that takes."
_SAMPLING = "Sampling is asked for by each request."
_OFF = "It is off without the flag, here too."

_GROUPS: Mapping[str, tuple[str, ...]] = {
    _GATEWAY: (
        "host", "port", "uds", "root-path", "ssl-keyfile", "ssl-certfile", "ssl-ca-certs",
        "ssl-cert-reqs", "enable-ssl-refresh", "uvicorn-log-level", "disable-uvicorn-access-log",
        "disable-fastapi-docs", "h11-max-incomplete-event-size", "h11-max-header-count",
        "api-server-count", "headless", "disable-frontend-multiprocessing",
    ),
    _ACCESS: (
        "allow-credentials", "allowed-origins", "allowed-methods", "allowed-headers", "middleware",
        "enable-request-id-headers", "enable-server-load-tracking", "enable-offline-docs",
    ),
    _LOGS: (
        "disable-log-requests", "enable-log-requests", "max-log-len",
        "otlp-traces-endpoint", "collect-detailed-traces", "log-config-file", "enable-log-outputs",
        "log-error-stack", "disable-access-log-for-endpoints", "aggregate-engine-logging",
    ),
    _METRICS: ("disable-log-stats", "show-hidden-metrics-for-version",
               "enable-prompt-tokens-details", "enable-force-include-usage", "kv-cache-metrics",
               "enable-mfu-metrics"),
    _TUNING: (
        "compilation-config", "performance-mode",
        "attention-backend", "attention-config", "moe-backend", "kernel-config", "block-size",
        "disable-custom-all-reduce", "disable-cascade-attn", "max-num-partial-prefills",
        "max-long-partial-prefills", "long-prefill-token-threshold", "scheduling-policy",
        "scheduler-cls", "disable-hybrid-kv-cache-manager", "num-gpu-blocks-override",
        "max-seq-len-to-capture", "cuda-graph-sizes", "num-scheduler-steps",
        "use-v2-block-manager", "additional-config", "enable-dbo", "optimization-level",
        "enable-flashinfer-autotune", "mamba-cache-mode", "mamba-cache-dtype",
        "mamba-ssm-cache-dtype", "mamba-block-size",
        "enable-mamba-cache-stochastic-rounding",
        "scheduler-reserve-full-isl", "enable-eplb", "eplb-config", "num-redundant-experts",
        "all2all-backend", "calculate-kv-scales", "kv-sharing-fast-prefill", 
        "scheduler-delay-factor",
        "ulysses-sequence-parallel-size", "enable-shift-parallel", "multi-step-stream-outputs",
        "preemption-mode", "safetensors-load-strategy", "worker-cls", "worker-extension-cls",
        "disable-async-output-proc", "linear-backend", "kv-cache-memory-bytes",
    ),
    _PARSER: (
        "reasoning-config", "tool-server", "exclude-tools-when-tool-choice-none",
        "guided-decoding-disable-fallback",
    ),
    _THINKING: ("enable-reasoning",),
    _OWN_PARSER: ("tool-parser-plugin", "reasoning-parser-plugin"),
    _TEMPLATE_VALUES: ("default-chat-template-kwargs",),
    _POOLER: ("pooler-config", "override-pooler-config"),
    _TEMPLATE: ("chat-template", "chat-template-content-format", "response-role",
                "trust-request-chat-template"),
    _TOKENIZER: ("tokenizer", "tokenizer-revision", "skip-tokenizer-init",
                 "tokenizer-pool-size", "return-tokens-as-token-ids"),
    _MEDIA: (
        "limit-mm-per-prompt", "mm-processor-kwargs", "mm-processor-cache-gb",
        "mm-processor-cache-type", "disable-chunked-mm-input", "allowed-local-media-path",
        "allowed-media-domains", "media-io-kwargs", "interleave-mm-strings", "skip-mm-profiling",
        "mm-encoder-tp-mode", "mm-encoder-attn-backend", "language-model-only", "enable-mm-embeds",
        "video-pruning-rate", "mm-shm-cache-max-object-size-mb", "disable-mm-preprocessor-cache",
    ),
    _CODE: ("trust-remote-code",),
    _TOPOLOGY: (
        "distributed-executor-backend", "nnodes", "node-rank", "master-addr", "master-port",
        "worker-use-ray", "ray-workers-use-nsight", "max-parallel-loading-workers", "device",
        "numa-bind", "numa-bind-nodes", "distributed-timeout-seconds", "shutdown-timeout",
    ),
    _REPLICAS: (
        "data-parallel-size", "data-parallel-rank", "data-parallel-size-local",
        "data-parallel-start-rank", "data-parallel-address", "data-parallel-rpc-port",
        "data-parallel-backend", "data-parallel-hybrid-lb", "data-parallel-external-lb",
    ),
    _DISAGGREGATED: (
        "kv-transfer-config", "kv-events-config", "ec-transfer-config", "kv-offloading-backend",
        "prefill-context-parallel-size", "decode-context-parallel-size",
        "dcp-kv-cache-interleave-size",
        "cp-kv-cache-interleave-size", "dcp-comm-backend",
    ),
    _REUSE: ("prefix-caching-hash-algo",),
    _BUILD: ("load-format", "model-loader-extra-config", "download-dir", "ignore-patterns",
             "hf-config-path", "code-revision", "config-format", "model-impl",
             "use-tqdm-on-load", "pt-load-map-location", "quantization-param-path",
             "allow-deprecated-quantization"),
    _LORA: ("max-loras", "max-cpu-loras", "fully-sharded-loras", "lora-dtype",
            "lora-extra-vocab-size",
            "default-mm-loras", "enable-lora-bias", "lora-target-modules", "specialize-active-lora",
            "enable-prompt-adapter", "max-prompt-adapters", "max-prompt-adapter-token"),
    _OFFLOAD: ("cpu-offload-gb", "swap-space", "offload-backend", "offload-group-size",
               "offload-num-in-group", "offload-prefetch-step", "cpu-offload-params"),
    _SAMPLING: ("seed", "generation-config", "logits-processors", "logits-processor-pattern",
                "max-logprobs", "logprobs-mode", "disable-sliding-window"),
}  # fmt: skip
_FURTHER: Mapping[str, str] = {
    _GATEWAY: (
        "ssl-ciphers grpc grpc-port io-processor-plugin renderer-num-workers "
        "sse-keep-alive-interval enable-fastapi-docs enable-uvicorn-access-log "
        "disable-ssl-refresh enable-scale-out disable-scale-out"
    ),
    _ACCESS: (
        "disable-request-id-headers disable-server-load-tracking disable-offline-docs "
        "enable-tokenizer-info-endpoint disable-tokenizer-info-endpoint enable-prompt-embeds "
        "disable-prompt-embeds max-num-queued-reqs max-num-queued-tokens max-num-active-seqs "
        "trust-request-mm-kwargs"
    ),
    _LOGS: (
        "log-level logging-config enable-log-deltas disable-log-deltas disable-log-outputs "
        "enable-logging-iteration-details disable-logging-iteration-details "
        "enable-layerwise-nvtx-tracing disable-layerwise-nvtx-tracing profiler-config "
        "jit-monitor-mode jit-monitor-verbose fingerprint-mode fingerprint-value "
        "enable-trace-replay disable-trace-replay fail-on-environ-validation aux-output-config"
    ),
    _METRICS: (
        "cudagraph-metrics kv-cache-metrics-sample custom-histogram-buckets "
        "enable-per-request-metrics disable-per-request-metrics per-request-spec-decode-metrics "
        "disable-prompt-tokens-details disable-force-include-usage disable-mfu-metrics"
    ),
    _TUNING: (
        "dbo-decode-token-threshold dbo-prefill-token-threshold disable-dbo disable-eplb "
        "expert-placement-strategy enable-ep-weight-filter disable-ep-weight-filter "
        "enable-elastic-ep disable-elastic-ep elastic-ep-max-dp-size gdn-prefill-backend "
        "kda-decode-backend kda-prefill-backend ir-op-priority "
        "long-prefill-token-threshold-adaptive mamba-backend mamba-cache-philox-rounds "
        "mamba-ssu-algorithm disable-mamba-cache-stochastic-rounding "
        "enable-mamba-fine-grained-prefix-cache enable-mamba-shared-prefix-checkpoint "
        "disable-mamba-shared-prefix-checkpoint max-num-scheduled-tokens "
        "prefill-schedule-interval replayssm-buffer-len use-replayssm sparse-indexer-topk-backend "
        "swa-bounded-replay ubatch-size use-fp64-gumbel watermark watermark-config "
        "watchdog-config enable-batch-sharded-sampling disable-batch-sharded-sampling "
        "enable-bf16x3-router-gemm enable-cascade-attn enable-custom-all-reduce "
        "enable-cumem-allocator disable-cumem-allocator enable-flash-late-interaction "
        "disable-flash-late-interaction disable-flashinfer-autotune enable-hc-sp disable-hc-sp "
        "enable-hybrid-kv-cache-manager enable-shm-tensor-arena disable-shm-tensor-arena "
        "monokernel engram-config diffusion-config override-attention-dtype "
        "kv-cache-dtype-skip-layers device-memory-utilization"
    ),
    _PARSER: (
        "tool-strict-level disable-auto-tool-choice reasoning-effort-map cohere-format "
        "cohere-is-reasoning-model anthropic-disabled-thinking-effort"
    ),
    _TOKENIZER: "tokens-only",
    _MEDIA: (
        "enable-chunked-mm-input mm-device-do-normalize mm-encoder-attn-dtype "
        "mm-encoder-fp8-scale-path mm-encoder-fp8-scale-save-margin "
        "mm-encoder-fp8-scale-save-path mm-encoder-only mm-hasher-algorithm mm-ipc-gpu-memory-gb "
        "mm-processor-device mm-tensor-ipc video-pruning-method disable-mm-embeds"
    ),
    _TOPOLOGY: (
        "cpu-distributed-timeout-seconds device-ids enable-fault-tolerance "
        "disable-fault-tolerance fault-tolerance-config enable-nccl-comm-suspend "
        "disable-nccl-comm-suspend enable-nccl-for-dp-synchronization "
        "disable-nccl-for-dp-synchronization numa-bind-cpus"
    ),
    _REPLICAS: (
        "data-parallel-multi-port-external-lb data-parallel-supervisor-port "
        "dp-supervisor-probe-failure-threshold dp-supervisor-probe-interval-s "
        "dp-supervisor-probe-timeout-s dp-sync-interval"
    ),
    _DISAGGREGATED: "dcp-q-replicate ec-manager-config",
    _REUSE: "prefix-cache-retention-interval prefix-match-unit",
    _BUILD: (
        "model-class-overrides quantization-config safetensors-prefetch-block-size "
        "safetensors-prefetch-num-threads sleep-mode-backend sleep-mode-offload-cudagraph "
        "sleep-preserve-parameter-names disable-sleep-mode weight-transfer-config"
    ),
    _LORA: (
        "max-lora-cls-labels enable-tower-connector-lora disable-tower-connector-lora "
        "enable-moe-shared-loras disable-moe-shared-loras enable-mixed-moe-lora-format "
        "disable-mixed-moe-lora-format"
    ),
    _OFFLOAD: "offload-params",
    _OFF: "disable-expert-parallel disable-lora",
    _SAMPLING: (
        "enable-sliding-window enable-return-routed-experts disable-return-routed-experts "
        "return-sampling-mask"
    ),
}  # fmt: skip

REASONS: Mapping[str, str] = MappingProxyType(
    {name: reason for reason, names in _GROUPS.items() for name in names}
    | {name: reason for reason, names in _FURTHER.items() for name in names.split()}
)
"""Flag -> why it is not carried over."""
