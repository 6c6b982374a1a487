"""The flags of `vllm serve`: which are read, and which take a value.

Source: the argument parsers of vLLM 0.25.1 to 0.33.0, checked 2026-11-28, and the public commands
in the tests' data.
"""

from controlplane.domain.commands.options import Grammar
from controlplane.domain.runtimes.vllm.engine_options import NAMES
from controlplane.domain.runtimes.vllm.flag_reasons import REASONS

READ = NAMES | frozenset(
    {"model", "model-tag", "revision", "served-model-name", "max-model-len", "max-num-seqs",
     "max-num-batched-tokens", "tensor-parallel-size", "pipeline-parallel-size",
     "enable-expert-parallel", "quantization", "kv-cache-dtype", "gpu-memory-utilization",
     "kv-offloading-size", "enable-chunked-prefill", "disable-chunked-prefill",
     "speculative-config", "speculative-model", "num-speculative-tokens", "spec-method",
     "spec-model", "spec-tokens", "enable-lora", "lora-modules", "max-lora-rank", "task", "runner",
     "convert", "api-key", "hf-token", "override-generation-config", "config", "help"}
)  # fmt: skip
"""Flags that `parse` reads."""

_SWITCHES = frozenset(
    {"enable-auto-tool-choice", "enable-sleep-mode", "disable-log-stats", "disable-prefix-caching",
     "enable-expert-parallel", "enable-chunked-prefill", "enable-lora", "trust-remote-code",
     "enable-prefix-caching", "enforce-eager", "async-scheduling", "headless", "worker-use-ray",
     "allow-credentials", "fully-sharded-loras", "skip-tokenizer-init", "language-model-only",
     "use-v2-block-manager", "interleave-mm-strings", "skip-mm-profiling", "calculate-kv-scales",
     "return-tokens-as-token-ids", "data-parallel-hybrid-lb",
     "data-parallel-external-lb", "log-error-stack", "numa-bind", "specialize-active-lora",
     "kv-sharing-fast-prefill", "aggregate-engine-logging", "help", "enable-dbo", "enable-eplb",
     "exclude-tools-when-tool-choice-none", "trust-request-chat-template", "kv-cache-metrics",
     "ray-workers-use-nsight", "use-tqdm-on-load", "multi-step-stream-outputs",
     "guided-decoding-disable-fallback", "allow-deprecated-quantization",
     "scheduler-reserve-full-isl", "disable-chunked-prefill", "disable-expert-parallel",
     "disable-lora", "cohere-is-reasoning-model", "cudagraph-metrics", "dcp-q-replicate", "grpc",
     "data-parallel-multi-port-external-lb", "fail-on-environ-validation", "jit-monitor-verbose",
     "long-prefill-token-threshold-adaptive", "mm-device-do-normalize", "mm-encoder-only",
     "monokernel", "return-sampling-mask", "sleep-mode-offload-cudagraph", "swa-bounded-replay",
     "tokens-only", "trust-request-mm-kwargs", "use-fp64-gumbel", "use-replayssm"}
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
         "allowed-media-domains", "lora-target-modules", "disable-access-log-for-endpoints",
         "collect-detailed-traces", "cpu-offload-params", "numa-bind-nodes", "numa-bind-cpus",
         "kv-cache-dtype-skip-layers", "offload-params", "sleep-preserve-parameter-names"}
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
        "-ep": "enable-expert-parallel",
        "-dpm": "data-parallel-multi-port-external-lb", "-dc": "diffusion-config",
        "-r": "node-rank", "-h": "help",
    },
    names=frozenset(REASONS) | READ,
)  # fmt: skip
