"""Which GPUs a model runs on: every kind, precision and division over GPUs, best first."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import PLANNABLE_GPUS, Gpu
from controlplane.domain.facts.precision_support import (
    is_emulated,
    precision_refusal,
    stored_refusal,
)
from controlplane.domain.facts.quantization import PRECISIONS, TRIED
from controlplane.domain.facts.quantization_of_models import SMALL_MODEL_PARAMETERS
from controlplane.domain.memory.changes import patched
from controlplane.domain.memory.memory_plan import MemoryPlan
from controlplane.domain.memory.plan import UnplannableError, plan
from controlplane.domain.memory.runtime_memory import RuntimeMemory
from controlplane.domain.memory.sizing import DEVICE_COUNTS, DEVICES_PER_HOST, divides
from controlplane.domain.memory.speed import Range
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import BaseModelKind

_USD_PER_BYTE_A_MINUTE = 0.10833 / 3.35e12
"""An H100's price for its bandwidth, to place kinds that the hosted product does not sell."""
_MOST_TOGETHER = 64
"""Requests at once that throughput is stated for, where so many fit."""


MemoryOf = Callable[[str, str, int], RuntimeMemory]
"""Kind, type of quantization and number of GPUs -> what is known of the runtime that serves it."""


@dataclass(frozen=True, kw_only=True)
class GpuOffer:
    """GPUs of one kind on one host, owned or only thought of."""

    kind: str
    count: int
    memory_bytes: int
    owned: bool = True


@dataclass(frozen=True, kw_only=True)
class FitRow:
    """One kind x precision x division, with what it holds or why it is not to be had."""

    offer: GpuOffer
    quantization_type: str
    tensor_parallel: int
    pipeline_parallel: int
    plan: MemoryPlan | None
    reasons: tuple[str, ...]

    @property
    def devices(self) -> int:
        return self.tensor_parallel * self.pipeline_parallel

    @property
    def fits(self) -> bool:
        return self.plan is not None and self.plan.verdict != "does_not_fit"

    @property
    def is_emulated(self) -> bool:
        """Whether the GPU computes such weights in 16 bits: memory saved, no arithmetic."""
        return is_emulated(self.quantization_type, PLANNABLE_GPUS[self.offer.kind])

    @property
    def together(self) -> int:
        """Requests at once that the throughput of a generator is stated for."""
        if self.plan is None:
            return 1
        return max(1, min(self.plan.batch_size, self.plan.requests_at_4096, _MOST_TOGETHER))

    @property
    def throughput(self) -> Range | None:
        """Tokens a second of all requests that run together; of an encoder, texts."""
        if self.plan is None:
            return None
        if self.plan.encoder_speed is not None:
            return self.plan.encoder_speed.texts_per_second()
        return self.plan.speed.tokens_per_second(self.together) if self.plan.speed else None

    @property
    def tokens_per_second(self) -> float | None:
        """Midpoint of the range, of all requests that run together; None of an encoder."""
        return None if self.plan is None or self.plan.is_encoder else self._middle

    @property
    def usd_per_million_tokens(self) -> float | None:
        """At the hosted product's price of the GPUs; None where that is not known."""
        price = PLANNABLE_GPUS[self.offer.kind].usd_per_minute
        return None if self.tokens_per_second is None else self.per_million((price or 0) * 60)

    @property
    def relative_cost(self) -> float:
        """Price of a token or text; a kind without a price counts by its bandwidth, as others
        cost."""
        gpu, speed = PLANNABLE_GPUS[self.offer.kind], self._middle
        price = gpu.usd_per_minute or (gpu.bytes_per_second or 0.0) * _USD_PER_BYTE_A_MINUTE
        return price * self.devices / speed if speed else float("inf")

    def per_million(self, price_per_hour: float) -> float | None:
        speed = self._middle
        return price_per_hour * self.devices / 3600 / speed * 1e6 or None if speed else None

    @property
    def _middle(self) -> float | None:
        throughput = self.throughput
        return (throughput.low + throughput.high) / 2 if throughput else None

    def to_json(self) -> dict[str, Any]:
        planned, speed = self.plan, self.tokens_per_second
        cost = self.usd_per_million_tokens
        return {
            "gpu": self.offer.kind,
            "count": self.devices,
            "owned": self.offer.owned,
            "quantization_type": self.quantization_type,
            "tensor_parallel": self.tensor_parallel,
            "pipeline_parallel": self.pipeline_parallel,
            "verdict": planned.verdict if planned else "refused",
            "kv_tokens": planned.kv_tokens if planned else 0,
            "sequence_tokens": planned.sequence_tokens if planned else 0,
            "full_length_requests": planned.full_length_requests if planned else 0,
            "longest_sequence_tokens": planned.longest_sequence_tokens if planned else 0,
            "tokens_per_second": round(speed) if speed else None,
            "usd_per_million_tokens": round(cost, 2) if cost else None,
            "reasons": list(self.reasons),
        }


def every_offer() -> tuple[GpuOffer, ...]:
    """Return a full host of every kind whose memory is known, as GPUs that one might get."""
    return tuple(
        GpuOffer(kind=gpu.kind, count=DEVICES_PER_HOST, memory_bytes=gpu.memory_bytes, owned=False)
        for gpu in PLANNABLE_GPUS.values()
        if gpu.memory_bytes
    )


def fit(
    checkpoint: CheckpointFacts,
    offers: Sequence[GpuOffer],
    *,
    spec: Spec,
    runtime: RuntimeMemory | MemoryOf,
    with_refused: bool = False,
) -> tuple[FitRow, ...]:
    """Return what the model runs on, best first: it fits, it is owned, it costs least a token.

    Of each kind and precision the fewest GPUs that hold a full-length request, and all larger
    divisions. Limits (length, batch, fraction) are those of `spec`. `runtime` is one for all rows,
    or says which serves a row. With `with_refused` also the rows that are not to be had, with the
    reason, last.
    """
    memory_of: MemoryOf = runtime if callable(runtime) else lambda *_: runtime
    rows = [
        row
        for offer in offers
        if offer.kind in PLANNABLE_GPUS
        for row in _rows_of(offer, checkpoint, spec, memory_of)
        if with_refused or row.fits
    ]
    return tuple(sorted(rows, key=_rank))


def _rank(row: FitRow) -> tuple[Any, ...]:
    return (
        not row.fits,
        row.plan is None,
        not row.offer.owned,
        row.plan is not None and row.plan.verdict == "tight",
        row.relative_cost,
        row.devices,
        -(row.tokens_per_second or 0.0),
        row.offer.kind,
        TRIED.index(row.quantization_type),
    )


def _rows_of(
    offer: GpuOffer, checkpoint: CheckpointFacts, spec: Spec, memory_of: MemoryOf
) -> Iterator[FitRow]:
    gpu = PLANNABLE_GPUS[offer.kind]
    quantized = checkpoint.existing_quantization is not None
    for name in TRIED[:1] if quantized else TRIED:
        support = memory_of(offer.kind, name, 1).precisions
        refused = stored_refusal(checkpoint, gpu, support) if quantized else None
        refused = refused or precision_refusal(name, gpu, checkpoint, support)
        refused = refused or _encoder_refusal(name, spec)
        if refused:
            yield _row(offer, name, (1, 1), None, (refused,))
            continue

        def may_divide(ranks: int, stages: int, name: str = name) -> bool:
            memory = memory_of(offer.kind, name, ranks * stages)
            return divides(checkpoint, ranks, memory, spec)

        for division in _divisions(offer, spec, may_divide):
            memory = memory_of(offer.kind, name, division[0] * division[1])
            yield _planned(offer, checkpoint, spec, memory, name, division)


def _encoder_refusal(name: str, spec: Spec) -> str | None:
    precision = PRECISIONS[name]
    if spec.base_model is BaseModelKind.ENCODER_BERT and precision.is_quantized:
        return "`encoder_bert` runs in 16 bits only"
    if spec.base_model.is_encoder and precision.quantizes_kv_cache:
        return "an encoder keeps no KV cache"
    return None


def _divisions(
    offer: GpuOffer, spec: Spec, may_divide: Callable[[int, int], bool]
) -> Iterator[tuple[int, int]]:
    """Yield the ranks alone that divide, and the widest of them in as many stages as there are."""
    if spec.base_model.is_encoder:
        yield 1, 1
        return
    ranks = [n for n in DEVICE_COUNTS if n <= offer.count and may_divide(n, 1)]
    yield from ((n, 1) for n in ranks)
    staged = [n for n in DEVICE_COUNTS if n <= offer.count and may_divide(n, offer.count // n)]
    widest = max(staged, default=offer.count)
    if offer.count // widest > 1 and not spec.is_v2:
        yield widest, offer.count // widest


def _planned(
    offer: GpuOffer,
    checkpoint: CheckpointFacts,
    spec: Spec,
    runtime: RuntimeMemory,
    name: str,
    division: tuple[int, int],
) -> FitRow:
    try:
        planned = plan(
            _variant(spec, name, division[1]), checkpoint, offer, runtime,
            tensor_parallel=division[0],
        )  # fmt: skip
    except UnplannableError as error:
        return _row(offer, name, division, None, (str(error),))
    gpu = PLANNABLE_GPUS[offer.kind]
    return _row(offer, name, division, planned, tuple(_reasons(planned, checkpoint, gpu, name)))


def _variant(spec: Spec, name: str, stages: int) -> Spec:
    patch: dict[str, Any] = {"trt_llm.build.quantization_type": name}
    if not spec.is_v2:
        patch["trt_llm.build.pipeline_parallel_count"] = stages
    return patched(spec, patch)


def _reasons(
    planned: MemoryPlan, checkpoint: CheckpointFacts, gpu: Gpu, name: str
) -> Iterator[str]:
    if planned.verdict == "does_not_fit":
        yield _why_not(planned)
    if planned.verdict == "tight":
        yield "fits without the margin that runs on this kind have needed"
    if is_emulated(name, gpu):
        yield f"`{name}` is emulated on {gpu.kind}: it saves memory and no time"
    parameters = checkpoint.parameters or 0
    precision = PRECISIONS[name]
    if precision.weights.arithmetic_bytes > precision.weights.bytes:
        bits = round(8 * precision.weights.arithmetic_bytes)
        yield f"`{name}` is multiplied in {bits} bits: it saves memory and no arithmetic"
    if parameters < precision.weights.lossy_below_parameters:
        yield precision.weights.loss
    elif precision.is_quantized and parameters < SMALL_MODEL_PARAMETERS:
        yield "a model of this size gains little from quantization"


def _why_not(planned: MemoryPlan) -> str:
    if planned.weights_fit:
        return f"holds {planned.longest_sequence_tokens:,} of {planned.sequence_tokens:,} tokens"
    if planned.binding == "activations":
        taken = planned.activations_bytes / 2**30
        return (
            f"steps of {planned.step_tokens:,} tokens take {taken:,.1f} GiB a GPU: lower "
            "`max_num_tokens`"
        )
    return f"needs {planned.fixed_bytes / 2**30:,.1f} GiB a GPU before the first token"


def _row(
    offer: GpuOffer,
    name: str,
    division: tuple[int, int],
    planned: MemoryPlan | None,
    reasons: tuple[str, ...],
) -> FitRow:
    return FitRow(
        offer=offer, quantization_type=name, tensor_parallel=division[0],
        pipeline_parallel=division[1], plan=planned, reasons=reasons,
    )  # fmt: skip
