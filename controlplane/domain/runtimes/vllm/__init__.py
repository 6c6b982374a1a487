"""vLLM as commands know it; what starts one comes beside it."""

from controlplane.domain.runtimes.vllm import export, parse

__all__ = ["export", "parse"]
