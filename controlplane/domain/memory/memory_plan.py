from dataclasses import dataclass, field
from typing import Any, Protocol

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.encoder_speed import EncoderSpeed
from controlplane.domain.memory.kv_cache import KvLayout, kv_bytes_per_token
from controlplane.domain.memory.parallelism import Parallelism
from controlplane.domain.memory.runtime_memory import (
    MARGIN_KINDS,
    MARGIN_SHARE,
    MARGIN_UNDER_REQUESTS,
    RuntimeMemory,
)
from controlplane.domain.memory.speculation import Drafting
from controlplane.domain.memory.speed import Speed
from controlplane.domain.spec import Spec

TYPICAL_REQUEST_TOKENS = 4096
SIXTEEN_BIT_BYTES = 2


class UnplannableError(ValueError):
    """The facts do not suffice for a plan; the text says which are missing."""


class Device(Protocol):
    """A GPU to plan for: its kind and its memory."""

    @property
    def kind(self) -> str: ...
    @property
    def memory_bytes(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class PlanInputs:
    """What a plan was made from, to make others beside it."""

    spec: Spec
    checkpoint: CheckpointFacts
    device: Device
    runtime: RuntimeMemory
    tensor_parallel: int | None = None
    computes_bfloat16: bool = False
    """Of a CPU: whether its processor does so by itself. The native engine asks for it."""


@dataclass(frozen=True, kw_only=True)
class MemoryPlan:
    """Bytes on each GPU of one replica, and what they hold. All sizes in bytes."""

    inputs: PlanInputs = field(repr=False, compare=False)
    weight_bytes: int
    """All weights as the runtime holds them, before they are divided over GPUs."""
    kv_bytes_per_token: int
    """Over all GPUs, in the precision that the config asks for."""
    weights_bytes: int
    kv_cache_bytes: int
    activations_bytes: int
    overhead_bytes: int
    kv_tokens: int
    sequence_tokens: int
    full_length_requests: int
    batch_size: int
    step_tokens: int
    """Tokens that one engine step may process, drafts included."""
    layout: KvLayout
    """What one rank keeps of a request; empty for an encoder."""
    kv_element_bytes: float
    block_tokens: int = 1
    drafting: Drafting = field(default_factory=Drafting)
    adapters_bytes: int = 0
    parallelism: Parallelism = field(default_factory=Parallelism)
    estimates: tuple[str, ...] = ()
    """What in this plan no run was held against."""
    speed: Speed | None = None
    encoder_speed: EncoderSpeed | None = None

    @property
    def architecture(self) -> str | None:
        return self.inputs.checkpoint.architecture

    @property
    def parameters(self) -> int | None:
        return self.inputs.checkpoint.parameters

    @property
    def device_bytes(self) -> int:
        return self.inputs.device.memory_bytes

    @property
    def device_kind(self) -> str:
        return self.inputs.device.kind

    @property
    def runtime_name(self) -> str:
        return self.inputs.runtime.name

    @property
    def devices(self) -> int:
        """GPUs of one replica."""
        return self.parallelism.devices

    @property
    def kv_fraction(self) -> float:
        return self.inputs.spec.kv_cache_fraction

    @property
    def is_encoder(self) -> bool:
        return self.inputs.spec.base_model.is_encoder

    @property
    def estimated(self) -> bool:
        """True where the weights were counted from the shape and not read from the files."""
        checkpoint = self.inputs.checkpoint
        return checkpoint.weight_bytes is None and checkpoint.parameters_estimated

    @property
    def own_kv_bytes_per_token(self) -> int:
        """Over all GPUs, in the model's own 16 bits."""
        return kv_bytes_per_token(self.inputs.checkpoint, element_bytes=SIXTEEN_BIT_BYTES) or 0

    @property
    def least_kv_bytes_per_token(self) -> int:
        """Over all GPUs, where layers of a kind that is not known keep nothing."""
        token_bytes = kv_bytes_per_token(
            self.inputs.checkpoint, element_bytes=self.kv_element_bytes, at_least=True
        )
        return min(token_bytes or 0, self.kv_bytes_per_token)

    @property
    def free_bytes(self) -> int:
        """What is left of the GPU; negative when it is too small."""
        return self.device_bytes - self.fixed_bytes - self.kv_cache_bytes

    @property
    def fixed_bytes(self) -> int:
        """What the engine takes before it caches a single token."""
        return self.weights_bytes + self.activations_bytes + self.overhead_bytes

    @property
    def weights_fit(self) -> bool:
        return self.fixed_bytes < self.device_bytes

    @property
    def reserved_bytes(self) -> int:
        """Memory to lease so that a plan within it comes to the same KV cache."""
        share = min(max(self.kv_fraction, 0.01), 1.0)
        return self.fixed_bytes + -int(-self.kv_cache_bytes // share)

    @property
    def binding(self) -> str:
        """The limit met first: `weights`, `activations`, `kv_cache`, `max_batch_size` or, for an
        encoder, `max_num_tokens`."""
        if not self.weights_fit:
            fits_alone = self.weights_bytes + self.overhead_bytes < self.device_bytes
            return "activations" if fits_alone else "weights"
        if self.full_length_requests < self.batch_size:
            return "max_num_tokens" if self.is_encoder else "kv_cache"
        return "max_batch_size"

    @property
    def safe_full_length_requests(self) -> int:
        """Requests of full length to count on: less than planned on GPUs where runs fell short."""
        requests = self.full_length_requests
        if self.device_kind not in MARGIN_KINDS or self.is_encoder:
            return requests
        if requests < MARGIN_UNDER_REQUESTS:
            return max(0, requests - 1)
        return int(requests * (1 - MARGIN_SHARE))

    @property
    def verdict(self) -> str:
        """`fits`, `tight` where only the margin is missing, or `does_not_fit`."""
        if not self.weights_fit or self.full_length_requests < 1:
            return "does_not_fit"
        return "fits" if self.safe_full_length_requests >= 1 else "tight"

    @property
    def longest_sequence_tokens(self) -> int:
        if self.is_encoder:
            return self.sequence_tokens
        longest = self.layout.longest(self.kv_cache_bytes) - self.drafting.extra_tokens
        return self._within_positions(longest - longest % self.block_tokens)

    def _within_positions(self, tokens: int) -> int:
        return max(0, min(tokens, self.inputs.checkpoint.max_positions or tokens))

    def requests_of(self, tokens: int) -> int:
        """Return how many requests of that length the KV cache holds at once."""
        if self.is_encoder:
            return self.step_tokens // max(tokens, 1)
        whole = self.layout.request_bytes(
            in_blocks(tokens + self.drafting.extra_tokens, self.block_tokens)
        )
        return self.kv_cache_bytes // whole if whole else 0

    @property
    def requests_at_4096(self) -> int:
        """Requests of 4,096 tokens, or of full length where that is shorter."""
        return self.requests_of(min(TYPICAL_REQUEST_TOKENS, self.sequence_tokens))

    def to_json(self) -> dict[str, Any]:
        """Return the stable form that pages, REST and commands show."""
        checkpoint = self.inputs.checkpoint
        return {
            "model": {
                "architecture": self.architecture,
                "parameters": self.parameters,
                "weight_bytes": checkpoint.stored_weight_bytes or self.weight_bytes,
                "kv_bytes_per_token": self.own_kv_bytes_per_token,
            },
            "per_gpu": {
                "device_bytes": self.device_bytes,
                "weights_bytes": self.weights_bytes,
                "kv_cache_bytes": self.kv_cache_bytes,
                "activations_bytes": self.activations_bytes,
                "overhead_bytes": self.overhead_bytes,
                "free_bytes": self.free_bytes,
            },
            "capacity": self._capacity_json(),
            "weights": {
                "source": "count" if self.estimated else "headers",
                "counted_bytes": checkpoint.counted_weight_bytes,
                "disagree": checkpoint.weights_disagree,
                "loaded_bytes": self.weight_bytes,
                "adapters_bytes": self.adapters_bytes,
            },
            "kv_cache": {
                "element_bytes": self.kv_element_bytes,
                "bytes_per_token": self.kv_bytes_per_token,
                "least_bytes_per_token": self.least_kv_bytes_per_token,
                "unknown_layers": self.inputs.checkpoint.unknown_kv_layers,
                "request_state_bytes": self.layout.state,
                "windows": [window for window, _ in self.layout.windowed],
                "draft_tokens": self.drafting.tokens,
            },
            "speed": self.speed.to_json(self._typical_batch) if self.speed else None,
            "encoder_speed": self.encoder_speed.to_json() if self.encoder_speed else None,
            "estimates": list(self.estimates),
        }

    @property
    def _typical_batch(self) -> int:
        """Requests that really run together: as many as fit, and no more than may."""
        return max(1, min(self.batch_size, self.requests_at_4096))

    def _capacity_json(self) -> dict[str, Any]:
        return {
            "kv_tokens": self.kv_tokens,
            "full_length_requests": self.full_length_requests,
            "binding": self.binding,
            "sequence_tokens": self.sequence_tokens,
            "devices": self.devices,
            "estimated": self.estimated,
            "verdict": self.verdict,
            "safe_full_length_requests": self.safe_full_length_requests,
            "requests_at_4096": self.requests_at_4096,
            "longest_sequence_tokens": self.longest_sequence_tokens,
        }


def in_blocks(tokens: int, block: int) -> int:
    """Return the tokens that whole blocks of the cache hold for a request of that length."""
    return -(-tokens // block) * block
