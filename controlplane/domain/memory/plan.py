"""The memory plan of one card."""

from dataclasses import dataclass
from typing import Any, Protocol

from controlplane.domain.facts.architectures import RECURRENT_MODEL_TYPES
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.quantization import PRECISIONS
from controlplane.domain.memory.activations import (
    BLOCK_RESERVE,
    CPU_RUNTIME_BYTES,
    cpu_activation_bytes,
    gpu_activation_bytes,
    gpu_overhead_bytes,
)
from controlplane.domain.memory.kv_cache import kv_bytes_per_token
from controlplane.domain.memory.native_limits import (
    effective_batch_size,
    effective_sequence_length,
)
from controlplane.domain.memory.weights import FLOAT32_BYTES, cpu_weight_bytes, gpu_weight_bytes
from controlplane.domain.spec import Spec

FALLBACK_SEQUENCE_TOKENS = 8192
"""Length assumed where neither the config nor the checkpoint names one."""


class UnplannableError(ValueError):
    """The facts do not suffice for a plan; the text says which are missing."""


class Card(Protocol):
    """A card to plan for: its kind and its memory."""

    @property
    def kind(self) -> str: ...
    @property
    def memory_bytes(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class MemoryPlan:
    """Bytes on each card of one replica, and what they hold. All sizes in bytes."""

    architecture: str | None
    parameters: int | None
    weight_bytes: int
    """All weights, before they are divided over cards."""
    kv_bytes_per_token: int
    """Over all cards, in the precision that the config asks for."""
    card_bytes: int
    weights_bytes: int
    kv_cache_bytes: int
    activations_bytes: int
    overhead_bytes: int
    kv_tokens: int
    sequence_tokens: int
    full_length_requests: int
    batch_size: int
    cards: int
    kv_fraction: float
    estimated: bool
    """True where the weights were counted from the shape and not read from the files."""

    @property
    def free_bytes(self) -> int:
        """What is left of the card; negative when it is too small."""
        return self.card_bytes - self.fixed_bytes - self.kv_cache_bytes

    @property
    def fixed_bytes(self) -> int:
        """What the engine takes before it caches a single token."""
        return self.weights_bytes + self.activations_bytes + self.overhead_bytes

    @property
    def weights_fit(self) -> bool:
        return self.fixed_bytes < self.card_bytes

    @property
    def reserved_bytes(self) -> int:
        """Memory to lease so that a plan within it comes to the same KV cache."""
        share = min(max(self.kv_fraction, 0.01), 1.0)
        return self.fixed_bytes + -int(-self.kv_cache_bytes // share)

    @property
    def binding(self) -> str:
        """Which limit is met first: `weights`, `activations`, `kv_cache` or `max_batch_size`."""
        if not self.weights_fit:
            fits_alone = self.weights_bytes + self.overhead_bytes < self.card_bytes
            return "activations" if fits_alone else "weights"
        return "kv_cache" if self.full_length_requests < self.batch_size else "max_batch_size"

    def to_json(self) -> dict[str, Any]:
        """Return the stable form that pages, REST and commands show."""
        return {
            "model": {
                "architecture": self.architecture,
                "parameters": self.parameters,
                "weight_bytes": self.weight_bytes,
                "kv_bytes_per_token": self.kv_bytes_per_token,
            },
            "per_gpu": {
                "card_bytes": self.card_bytes,
                "weights_bytes": self.weights_bytes,
                "kv_cache_bytes": self.kv_cache_bytes,
                "activations_bytes": self.activations_bytes,
                "overhead_bytes": self.overhead_bytes,
                "free_bytes": self.free_bytes,
            },
            "capacity": {
                "kv_tokens": self.kv_tokens,
                "full_length_requests": self.full_length_requests,
                "binding": self.binding,
                "sequence_tokens": self.sequence_tokens,
                "cards": self.cards,
                "estimated": self.estimated,
            },
        }


def plan(
    spec: Spec,
    checkpoint: CheckpointFacts,
    card: Card,
    runtime_name: str,
    *,
    tensor_parallel: int | None = None,
) -> MemoryPlan:
    """Return the plan of one card under this runtime. Raises `UnplannableError`."""
    if checkpoint.model_type in RECURRENT_MODEL_TYPES:
        raise UnplannableError(f"`{checkpoint.model_type}` keeps a state beside its KV cache")
    if runtime_name == "native":
        return _plan_cpu(spec, checkpoint, card)
    return _plan_gpu(spec, checkpoint, card, tensor_parallel or spec.tensor_parallel)


def _plan_gpu(spec: Spec, checkpoint: CheckpointFacts, card: Card, ranks: int) -> MemoryPlan:
    stages = spec.pipeline_parallel
    element_bytes = PRECISIONS[spec.quantization_type.value].kv_bytes
    per_token = kv_bytes_per_token(
        checkpoint, element_bytes=element_bytes, tensor_parallel=ranks, pipeline_parallel=stages
    )
    total = kv_bytes_per_token(checkpoint, element_bytes=element_bytes)
    weights = gpu_weight_bytes(spec, checkpoint)
    if per_token is None or total is None or weights is None:
        raise UnplannableError(_missing(checkpoint))
    fixed = {
        "weights_bytes": -(-weights // (ranks * stages)),
        "activations_bytes": gpu_activation_bytes(
            checkpoint, max_num_tokens=spec.max_num_tokens, tensor_parallel=ranks
        ),
        "overhead_bytes": gpu_overhead_bytes(ranks * stages),
    }
    share = spec.kv_cache_fraction
    budget = max(0, card.memory_bytes - sum(fixed.values())) * min(max(share, 0.0), 1.0)
    tokens = int(budget * (1 - BLOCK_RESERVE)) // per_token
    length = spec.max_seq_len or checkpoint.max_positions or FALLBACK_SEQUENCE_TOKENS
    return MemoryPlan(
        architecture=checkpoint.architecture,
        parameters=checkpoint.parameters,
        weight_bytes=weights,
        kv_bytes_per_token=total,
        card_bytes=card.memory_bytes,
        kv_cache_bytes=tokens * per_token,
        kv_tokens=tokens,
        sequence_tokens=length,
        full_length_requests=tokens // length,
        batch_size=spec.max_batch_size,
        cards=ranks * stages,
        kv_fraction=share,
        estimated=checkpoint.weight_bytes is None and checkpoint.parameters_estimated,
        **fixed,
    )


def _plan_cpu(spec: Spec, checkpoint: CheckpointFacts, card: Card) -> MemoryPlan:
    """The native engine computes in float32 and sizes its cache by what a full batch can use."""
    per_token = kv_bytes_per_token(checkpoint, element_bytes=FLOAT32_BYTES)
    weights = cpu_weight_bytes(checkpoint)
    if per_token is None or weights is None:
        raise UnplannableError(_missing(checkpoint))
    batch = effective_batch_size(spec)
    length = effective_sequence_length(spec, checkpoint)
    activations = cpu_activation_bytes(
        checkpoint, max_num_tokens=spec.max_num_tokens, max_batch_size=batch
    )
    rest = card.memory_bytes - weights - activations - CPU_RUNTIME_BYTES
    share = spec.kv_cache_fraction
    # Rounded, not floored: a plan within `reserved_bytes` must come to the same tokens.
    budget = round(max(0, rest) * min(max(share, 0.0), 1.0))
    tokens = min(budget // per_token, batch * length)
    return MemoryPlan(
        architecture=checkpoint.architecture,
        parameters=checkpoint.parameters,
        weight_bytes=weights,
        kv_bytes_per_token=per_token,
        card_bytes=card.memory_bytes,
        weights_bytes=weights,
        activations_bytes=activations,
        overhead_bytes=CPU_RUNTIME_BYTES,
        kv_cache_bytes=tokens * per_token,
        kv_tokens=tokens,
        sequence_tokens=length,
        full_length_requests=tokens // length,
        batch_size=batch,
        cards=1,
        kv_fraction=share,
        estimated=checkpoint.weight_bytes is None and checkpoint.parameters_estimated,
    )


def _missing(checkpoint: CheckpointFacts) -> str:
    facts = {
        "layers": checkpoint.layers,
        "KV heads": checkpoint.kv_heads,
        "head size": checkpoint.head_dim,
        "weight bytes": checkpoint.stored_weight_bytes,
    }
    names = ", ".join(name for name, value in facts.items() if value is None)
    return f"the checkpoint does not say: {names or 'its shape'}"
