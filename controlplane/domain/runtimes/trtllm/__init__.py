"""TensorRT-LLM as commands know it; what starts one comes beside it."""

from controlplane.domain.runtimes.trtllm import export, parse

__all__ = ["export", "parse"]
