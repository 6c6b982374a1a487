"""How fast a step can be: bytes against bandwidth, arithmetic against tensor cores.

Floor: bytes read per step over bandwidth. Range: held against vLLM 0.25.1 on one H100 (Qwen3-8B
shape: 6.9 ms in 16 bits, 4.6 ms in FP8, 13.5 ms at 64 requests, 8.4 ms verifying 32 tokens); other
GPUs and runtimes are estimates. Tokens per step under lookahead: our simulation of code edits at
2.5 % changed lines. Checked 2026-11-28.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts.gpus import Gpu

BEST_BANDWIDTH_SHARE, WORST_BANDWIDTH_SHARE = 0.95, 0.75
BEST_STEP_SECONDS, WORST_STEP_SECONDS = 0.0010, 0.0022
"""What a step costs beside reading: launches, sampling, scheduling."""
BEST_DRAFT_SECONDS, WORST_DRAFT_SECONDS = 0.0005, 0.0030
"""What drafting adds: searching, and the schedulers that it rules out."""
WORST_VERIFIED_SECONDS = 20e-6
"""What one more verified token adds at worst (8.1 ms at 64, 11.9 ms at 256 tokens)."""
BEST_EXCHANGE_SECONDS, WORST_EXCHANGE_SECONDS = 5e-6, 20e-6
"""One all-reduce; a layer has two."""
ARITHMETIC_SHARE = 0.8
RECORDED_KIND = "H100"
"""The only kind of GPU whose steps were recorded."""
ACCEPTED_BY_DRAFT_LENGTH: Sequence[tuple[int, float]] = (
    (8, 5.9),
    (16, 8.9),
    (32, 12.8),
    (64, 15.0),
)
"""(draft length, tokens per step) of the documented rule on edited code."""

RECOMMENDED_DRAFT_TOKENS = 41
"""What the sizes recommended for general use (3, 8, 3) draft."""


@dataclass(frozen=True, kw_only=True)
class StepWork:
    weight_bytes: int
    """Read whole in each step: all but the embedding table."""
    experts_bytes: int
    experts: int
    experts_per_token: int
    request_cache_bytes: int
    active_parameters: int
    """Over all GPUs, of one token."""
    bytes_per_weight: float
    arithmetic_bytes: float
    """Of one weight as it is multiplied: two where four-bit integers are expanded first."""
    tensor_ranks: int
    layers: int
    draft_tokens: int


@dataclass(frozen=True, kw_only=True)
class Range:
    """A figure from the worst to the best case."""

    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        return {"low": round(self.low, 1), "high": round(self.high, 1)}


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What the data sheet and the recorded steps say of one GPU and one model."""

    work: StepWork
    gpu: Gpu

    @property
    def step_floor_seconds(self) -> float:
        """The time to read what one step of one request reads."""
        return self._floor(1, 1)

    @property
    def basis(self) -> str:
        bandwidth = f"{(self.gpu.bytes_per_second or 0.0) / 1e12:.3g} TB/s"
        seen = (
            "held against steps recorded on one"
            if self.gpu.kind == RECORDED_KIND
            else f"held against steps recorded on an {RECORDED_KIND}, none on this kind"
        )
        return f"By formula: what a step reads over the GPU's {bandwidth}; {seen}."

    @property
    def free_verification_tokens(self) -> int:
        """Tokens of one step up to which arithmetic hides behind reading the weights."""
        bandwidth = self.gpu.bytes_per_second or 0.0
        flops = self.gpu.flops_at(self.work.arithmetic_bytes) or 0.0
        return int(flops / bandwidth * self.work.bytes_per_weight / 2) if bandwidth else 0

    @property
    def free_verification_batch(self) -> int:
        """The largest batch whose drafts are verified at no cost."""
        return self.free_verification_tokens // (self.work.draft_tokens + 1)

    def tokens_per_second(
        self, batch: int, *, draft_tokens: int = 0, tokens_per_step: float = 1.0
    ) -> Range:
        verified = batch * (draft_tokens + 1)
        floor = self._floor(batch, verified)
        exchanges = 2 * self.work.layers if self.work.tensor_ranks > 1 else 0
        drafts = draft_tokens > 0
        best = floor / BEST_BANDWIDTH_SHARE + BEST_STEP_SECONDS
        best += exchanges * BEST_EXCHANGE_SECONDS + drafts * BEST_DRAFT_SECONDS
        worst = floor / WORST_BANDWIDTH_SHARE + WORST_STEP_SECONDS
        worst += exchanges * WORST_EXCHANGE_SECONDS
        worst += drafts * (WORST_DRAFT_SECONDS + verified * WORST_VERIFIED_SECONDS)
        best = max(best, self._arithmetic(verified))
        made = batch * tokens_per_step
        return Range(low=made / max(worst, best), high=made / best)

    def to_json(self, batch: int) -> dict[str, Any]:
        """Return the figures of one request and of a batch, with their units in the names."""
        return {
            "basis": self.basis,
            "step_floor_ms": round(self.step_floor_seconds * 1000, 3),
            "tokens_per_second": self.tokens_per_second(1).to_json(),
            "batch": batch,
            "batch_tokens_per_second": self.tokens_per_second(batch).to_json(),
            "free_verification_tokens": self.free_verification_tokens,
            "free_verification_batch": self.free_verification_batch,
            "lookahead": {
                "asked": self.work.draft_tokens > 0,
                "draft_tokens": self.lookahead_draft_tokens,
                "assumed_tokens_per_step": round(self.assumed_tokens_per_step, 1),
                "tokens_per_second": self.lookahead_tokens_per_second.to_json(),
            },
        }

    @property
    def lookahead_draft_tokens(self) -> int:
        """The drafts of a step: as the config asks, or as the recommended sizes would make."""
        return self.work.draft_tokens or RECOMMENDED_DRAFT_TOKENS

    @property
    def assumed_tokens_per_step(self) -> float:
        return tokens_per_step(self.lookahead_draft_tokens)

    @property
    def lookahead_tokens_per_second(self) -> Range:
        return self.tokens_per_second(
            1,
            draft_tokens=self.lookahead_draft_tokens,
            tokens_per_step=self.assumed_tokens_per_step,
        )

    def _floor(self, batch: int, verified: int) -> float:
        work = self.work
        routed = 0.0
        if work.experts:
            untouched = (1 - work.experts_per_token / work.experts) ** verified
            routed = work.experts_bytes * (1 - untouched)
        read = work.weight_bytes + routed + batch * work.request_cache_bytes
        return read / (self.gpu.bytes_per_second or 1.0)

    def _arithmetic(self, verified: int) -> float:
        flops = (self.gpu.flops_at(self.work.arithmetic_bytes) or 1.0) * ARITHMETIC_SHARE
        return verified * 2 * self.work.active_parameters / self.work.tensor_ranks / flops


def tokens_per_step(draft_tokens: int) -> float:
    """Return the tokens that a step brings at that draft length, on edited code."""
    below = (0, 1.0)
    for above in ACCEPTED_BY_DRAFT_LENGTH:
        if draft_tokens <= above[0]:
            share = (draft_tokens - below[0]) / (above[0] - below[0])
            return below[1] + share * (above[1] - below[1])
        below = above
    return below[1]
