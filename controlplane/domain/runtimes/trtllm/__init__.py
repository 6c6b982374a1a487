"""TensorRT-LLM's PyTorch backend as the rest of the program sees it: all of it pure."""

from controlplane.domain.runtimes.trtllm import (
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
