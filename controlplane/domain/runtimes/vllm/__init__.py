"""vLLM on NVIDIA GPUs as the rest of the program sees it: all of it pure."""

from controlplane.domain.runtimes.vllm import (
    capabilities,
    export,
    failures,
    metrics,
    parse,
    proofs,
    render,
    routes,
)

__all__ = [
    "capabilities",
    "export",
    "failures",
    "metrics",
    "parse",
    "proofs",
    "render",
    "routes",
]
