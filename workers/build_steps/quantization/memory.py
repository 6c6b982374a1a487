"""Whether a machine can hold a model, asked before the first weight is read."""

import resource
from pathlib import Path

import psutil
import torch

from workers.build_steps.quantization import failures
from workers.build_steps.quantization.checkpoint import Checkpoint

_BASE_BYTES = 800_000_000
"""What Python, torch, Transformers and ModelOpt take before any model."""
_EXPORT_SHARE = 0.6
"""Bytes of the exported copy per byte of a 16-bit model: half for FP8, and what stays 16-bit."""
_CGROUP = Path("/sys/fs/cgroup")


def check_host_memory(needed: int, *, limit: int | None, what: str) -> None:
    """Raise StepFailure when fewer bytes are free than needed."""
    free = free_host_bytes()
    if limit is not None:
        free = min(free, limit)
    if needed > free:
        raise failures.no_host_memory(needed, free, what)


def calibration_bytes(checkpoint: Checkpoint, dtype: torch.dtype, batch_tokens: int) -> int:
    """Return what loading, calibrating and exporting takes on the host."""
    model = model_bytes(checkpoint, dtype)
    export = round(_EXPORT_SHARE * model_bytes(checkpoint, torch.bfloat16))
    return _BASE_BYTES + model + export + activation_bytes(checkpoint, batch_tokens)


def comparison_bytes(checkpoint: Checkpoint, dtype: torch.dtype, batch_tokens: int) -> int:
    """Return what one model and its logits take; the gate holds one model at a time."""
    # The exported tensors and their plain form exist at the same time while loading.
    model = round(model_bytes(checkpoint, dtype) * (1 + _EXPORT_SHARE))
    return _BASE_BYTES + model + activation_bytes(checkpoint, batch_tokens)


def model_bytes(checkpoint: Checkpoint, dtype: torch.dtype) -> int:
    """Return the bytes of the weights at `dtype`."""
    facts = checkpoint.facts
    count = facts.parameters
    if count is None:
        return facts.stored_weight_bytes or 0
    return count * int(dtype.itemsize)


def activation_bytes(checkpoint: Checkpoint, batch_tokens: int) -> int:
    """Return the bytes of one batch: logits in float32 twice, and the widest layer a few times."""
    facts = checkpoint.facts
    logits = 2 * 4 * (0 if checkpoint.is_encoder else facts.vocabulary_size or 0)
    widest = 4 * 6 * max(facts.intermediate_size or 0, facts.hidden_size or 0)
    return batch_tokens * (logits + widest)


def free_host_bytes() -> int:
    """Return the bytes that a process may still take, a container's limit included."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        if limit != "max":
            free = min(free, int(limit) - int((_CGROUP / "memory.current").read_text()))
    except (OSError, ValueError):
        return free
    return max(free, 0)


def peak_host_bytes() -> int:
    """Return the most memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def peak_card_bytes() -> int | None:
    """Return the most that torch held on all cards together, or None without a card."""
    if not torch.cuda.is_available():
        return None
    cards = range(torch.cuda.device_count())
    return sum(int(torch.cuda.max_memory_allocated(card)) for card in cards)
