"""What is known of checkpoints, accelerators, quantization types and architectures."""

from controlplane.domain.facts import architectures, checkpoints, gpus, quantization

__all__ = ["architectures", "checkpoints", "gpus", "quantization"]
