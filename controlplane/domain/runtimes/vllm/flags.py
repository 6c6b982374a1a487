"""The flags of `vllm serve`, and why most of them have no place in a config.

Source: vLLM 0.25 to 0.33, `vllm serve --help` and the public commands in the tests' data.
"""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.commands.options import Grammar

_GATEWAY = "The gateway listens for this model; engines listen where their agent tells them."
_ACCESS = "Keys, limits and allowed origins are the gateway's."
_LOGS = "Logs and traces of engines are collected by their agent."
_METRICS = "Metrics are read from every engine anyway."
_TUNING = "The runtime's driver decides how the engine compiles, schedules and places its kernels."
_PARSER = "The config has no setting for parsers of tool calls and reasoning."
_TEMPLATE = "The chat template is the checkpoint's own."
_TOKENIZER = "The tokenizer is the checkpoint's own."
_MEDIA = "Only text is planned for; settings of image and audio inputs have no place."
_CODE = "Code from a repository is never run; a checkpoint that needs it is refused by the checks."
_TOPOLOGY = "Hosts and processes are arranged by the deployment, not by the config."
_REPLICAS = "Copies of the model are replicas of its deployment, not a setting of the engine."
_DISAGGREGATED = "Moving the KV cache between engines is not a setting of one config."
_REUSE = "Prefixes are reused by every runtime here; there is no switch."
_BUILD = "The build loads the checkpoint itself; `quantization_type` alone says its precision."
_LORA = "Adapters are fixed at build time, so their caches are sized from `lora_adapters`."
_OFFLOAD = "Weights stay on the cards; the memory plan says how many that takes."
_SAMPLING = "Sampling is asked for by each request."

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
        "disable-log-requests", "enable-log-requests", "disable-log-stats", "max-log-len",
        "otlp-traces-endpoint", "collect-detailed-traces", "log-config-file", "enable-log-outputs",
        "log-error-stack", "disable-access-log-for-endpoints", "aggregate-engine-logging",
    ),
    _METRICS: ("show-hidden-metrics-for-version", "enable-prompt-tokens-details",
               "enable-force-include-usage", "kv-cache-metrics", "enable-mfu-metrics"),
    _TUNING: (
        "enforce-eager", "compilation-config", "async-scheduling", "performance-mode",
        "attention-backend", "attention-config", "moe-backend", "kernel-config", "block-size",
        "disable-custom-all-reduce", "disable-cascade-attn", "max-num-partial-prefills",
        "max-long-partial-prefills", "long-prefill-token-threshold", "scheduling-policy",
        "scheduler-cls", "disable-hybrid-kv-cache-manager", "num-gpu-blocks-override",
        "max-seq-len-to-capture", "cuda-graph-sizes", "cudagraph-capture-sizes",
        "max-cudagraph-capture-size", "num-scheduler-steps", "use-v2-block-manager",
        "additional-config", "enable-dbo", "optimization-level", "stream-interval",
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
        "tool-call-parser", "reasoning-parser", "enable-auto-tool-choice", "tool-parser-plugin",
        "reasoning-config", "enable-reasoning", "reasoning-parser-plugin", "tool-server",
        "exclude-tools-when-tool-choice-none", "structured-outputs-config",
        "guided-decoding-backend", "guided-decoding-disable-fallback",
        "default-chat-template-kwargs",
    ),
    _TEMPLATE: ("chat-template", "chat-template-content-format", "response-role",
                "trust-request-chat-template"),
    _TOKENIZER: ("tokenizer", "tokenizer-mode", "tokenizer-revision", "skip-tokenizer-init",
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
    _REUSE: ("enable-prefix-caching", "prefix-caching-hash-algo"),
    _BUILD: ("dtype", "load-format", "model-loader-extra-config", "download-dir", "ignore-patterns",
             "hf-overrides", "hf-config-path", "code-revision", "config-format", "model-impl",
             "use-tqdm-on-load", "pt-load-map-location", "quantization-param-path",
             "rope-scaling", "rope-theta", "allow-deprecated-quantization", "enable-sleep-mode"),
    _LORA: ("max-loras", "max-cpu-loras", "fully-sharded-loras", "lora-dtype",
            "lora-extra-vocab-size",
            "default-mm-loras", "enable-lora-bias", "lora-target-modules", "specialize-active-lora",
            "enable-prompt-adapter", "max-prompt-adapters", "max-prompt-adapter-token"),
    _OFFLOAD: ("cpu-offload-gb", "swap-space", "offload-backend", "offload-group-size",
               "offload-num-in-group", "offload-prefetch-step", "cpu-offload-params"),
    _SAMPLING: ("seed", "generation-config", "logits-processors", "logits-processor-pattern",
                "max-logprobs", "logprobs-mode", "disable-sliding-window"),
}  # fmt: skip

REASONS: Mapping[str, str] = MappingProxyType(
    {name: reason for reason, names in _GROUPS.items() for name in names}
)
"""Flag -> why it is not carried over."""

READ = frozenset(
    {"model", "model-tag", "revision", "served-model-name", "max-model-len", "max-num-seqs",
     "max-num-batched-tokens", "tensor-parallel-size", "pipeline-parallel-size",
     "enable-expert-parallel", "quantization", "kv-cache-dtype", "gpu-memory-utilization",
     "kv-offloading-size", "enable-chunked-prefill", "speculative-config", "speculative-model",
     "num-speculative-tokens", "enable-lora", "lora-modules", "max-lora-rank", "task", "runner",
     "convert", "api-key", "hf-token", "override-generation-config", "config", "help"}
)  # fmt: skip
"""Flags that `parse` reads."""

_SWITCHES = frozenset(
    {"enable-expert-parallel", "enable-chunked-prefill", "enable-lora", "trust-remote-code",
     "enable-prefix-caching", "enforce-eager", "async-scheduling", "headless", "worker-use-ray",
     "allow-credentials", "fully-sharded-loras", "skip-tokenizer-init", "language-model-only",
     "use-v2-block-manager", "interleave-mm-strings", "skip-mm-profiling", "calculate-kv-scales",
     "show-hidden-metrics-for-version", "return-tokens-as-token-ids", "data-parallel-hybrid-lb",
     "data-parallel-external-lb", "log-error-stack", "numa-bind", "specialize-active-lora",
     "kv-sharing-fast-prefill", "aggregate-engine-logging", "help", "enable-dbo", "enable-eplb",
     "exclude-tools-when-tool-choice-none", "trust-request-chat-template", "kv-cache-metrics",
     "ray-workers-use-nsight", "use-tqdm-on-load", "multi-step-stream-outputs",
     "guided-decoding-disable-fallback", "allow-deprecated-quantization"}
) | {
    name
    for name in REASONS
    if name.startswith(("enable-", "disable-")) and not name.startswith("disable-access-log-")
}  # fmt: skip

GRAMMAR = Grammar(
    switches=_SWITCHES,
    many=frozenset(
        {"served-model-name", "lora-modules", "api-key", "middleware", "ignore-patterns",
         "cudagraph-capture-sizes", "cuda-graph-sizes", "logits-processors", "default-mm-loras",
         "allowed-media-domains", "lora-target-modules", "disable-access-log-for-endpoints"}
    ),
    short={
        "-tp": "tensor-parallel-size", "-pp": "pipeline-parallel-size", "-dp": "data-parallel-size",
        "-q": "quantization", "-O": "compilation-config", "-cc": "compilation-config",
        "-ac": "attention-config", "-sc": "speculative-config", "-dpn": "data-parallel-rank",
        "-dpr": "data-parallel-start-rank", "-dpl": "data-parallel-size-local",
        "-dpa": "data-parallel-address", "-dpp": "data-parallel-rpc-port",
        "-dpb": "data-parallel-backend", "-dph": "data-parallel-hybrid-lb",
        "-dpe": "data-parallel-external-lb", "-dcp": "decode-context-parallel-size",
        "-pcp": "prefill-context-parallel-size", "-asc": "api-server-count", "-n": "nnodes",
        "-r": "node-rank", "-h": "help",
    },
    names=frozenset(REASONS) | READ,
)  # fmt: skip
