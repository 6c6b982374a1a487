"""EH1: kind and number of GPUs, and which of them suits what."""

from controlplane.domain.rules.hardware import (
    kind_and_number,
    stored_precision,
    suitability,
    trtllm_kernels,
)

RULES = (
    *kind_and_number.RULES,
    *stored_precision.RULES,
    *suitability.RULES,
    *trtllm_kernels.RULES,
)
