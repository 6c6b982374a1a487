from collections.abc import Iterator, Sequence

from controlplane.domain.counted import counted
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.forecast import BuildForecast, forecast
from controlplane.domain.memory import FitRow, MemoryPlan, build_estimate, changes
from controlplane.domain.memory.speed import Range

_VERDICTS = {
    "fits": "It fits.",
    "tight": "It fits without the margin that runs on this kind of GPU have needed.",
    "does_not_fit": "It does not fit.",
}


def lines_of(planned: MemoryPlan, advice: Sequence[FitRow]) -> Iterator[str]:
    yield from _model(planned)
    yield from _device(planned)
    yield from _capacity(planned)
    yield from _speed(planned)
    yield from _beside(planned)
    for row in advice:
        yield f"  {_advised(row)}"
    if planned.estimates:
        yield f"Estimated, not measured: {'; '.join(planned.estimates)}."
    yield _VERDICTS[planned.verdict]


def _model(planned: MemoryPlan) -> Iterator[str]:
    checkpoint = planned.inputs.checkpoint
    engine = checkpoint.engine
    yield (
        f"{planned.architecture or 'A model'}: {_billions(planned.parameters)} parameters, "
        f"{_gib(checkpoint.stored_weight_bytes or planned.weight_bytes)} of weights, "
        f"{planned.own_kv_bytes_per_token:,} bytes of KV cache a token."
    )
    if unknown := checkpoint.unknown_kv_layers:
        yield (
            f"{counted(unknown, 'layer')} of a kind that is not known here, taken for plain "
            f"attention: a token keeps {planned.least_kv_bytes_per_token:,} to "
            f"{planned.kv_bytes_per_token:,} bytes."
        )
    yield f"Engine: {engine.engine.value}. {engine.reason}"
    if checkpoint.weights_disagree:
        yield (
            f"The weight files hold {_gib(checkpoint.weight_bytes)}, the shape in config.json "
            f"comes to {_gib(checkpoint.counted_weight_bytes)}; the files count."
        )


def _device(planned: MemoryPlan) -> Iterator[str]:
    yield f"Each of {planned.devices} x {planned.device_kind}, {_gib(planned.device_bytes)}:"
    for name, size in (
        ("weights", planned.weights_bytes),
        ("activations", planned.activations_bytes),
        ("overhead", planned.overhead_bytes),
        ("KV cache", planned.kv_cache_bytes),
        ("free", planned.free_bytes),
    ):
        yield f"  {name:<12} {_gib(size):>12}"


def _capacity(planned: MemoryPlan) -> Iterator[str]:
    full = counted(planned.full_length_requests, "request")
    yield (
        f"Holds {planned.kv_tokens:,} tokens: {full} of "
        f"{planned.sequence_tokens:,} tokens (count on {planned.safe_full_length_requests:,}), "
        f"{planned.requests_at_4096:,} of 4,096. Longest request: "
        f"{planned.longest_sequence_tokens:,} tokens. The limit is {planned.binding}."
    )


def _speed(planned: MemoryPlan) -> Iterator[str]:
    speed = planned.speed
    if speed is None:
        return
    yield (
        f"A step takes at least {speed.step_floor_seconds * 1000:.2f} ms; one request gets "
        f"{_range(speed.tokens_per_second(1))} tokens/s."
    )
    yield (
        f"With lookahead {_range(speed.lookahead_tokens_per_second)} tokens/s, at "
        f"{speed.assumed_tokens_per_step:.1f} tokens a step of {speed.lookahead_draft_tokens} "
        f"drafts, as edited code brings{'' if planned.drafting.tokens else '; not asked for here'}."
    )
    if planned.drafting.tokens:
        yield (
            f"Drafts of {planned.drafting.tokens} tokens are verified at no cost up to a batch of "
            f"{speed.free_verification_batch}."
        )


def _beside(planned: MemoryPlan) -> Iterator[str]:
    yield _build(planned)
    if not planned.inputs.runtime.divides:
        return
    for change in changes(planned):
        after = change.plan
        yield (
            f"  {change.label}: {after.kv_tokens:,} tokens, "
            f"{counted(after.full_length_requests, 'request')} of {after.sequence_tokens:,}."
        )


def _build(planned: MemoryPlan) -> str:
    seconds = build_forecast(planned).seconds
    minutes = Range(low=seconds.low / 60, high=seconds.high / 60) if seconds else None
    duration = (
        f"takes {_range(minutes)} minutes by formula" if minutes else "takes a time not known"
    )
    if not planned.inputs.runtime.divides:
        return f"The build {duration}."
    inputs = planned.inputs
    builder = build_estimate(inputs.spec, inputs.checkpoint, inputs.device)
    devices = builder.need.devices if builder.need else builder.leased_devices
    short = f", {builder.leased_devices} leased" if builder.verdict != "fits" else ""
    return f"The build {duration}, on {counted(devices, 'GPU')}{short}."


def build_forecast(planned: MemoryPlan) -> BuildForecast:
    """Return what the build takes where nobody has built its like before."""
    inputs = planned.inputs
    return forecast(inputs.spec, inputs.checkpoint, inputs.device, host=None)


def _advised(row: FitRow) -> str:
    planned = row.plan
    requests = counted(planned.full_length_requests if planned else 0, "request")
    length = f" of {planned.sequence_tokens:,} tokens" if planned else ""
    words = f"; {'; '.join(row.reasons)}" if row.reasons else ""
    speed = f", about {row.tokens_per_second:,.0f} tokens/s" if row.tokens_per_second else ""
    return (
        f"{row.offer.kind}:{row.devices} {row.quantization_type}: {requests}{length}{speed}{words}"
    )


def _range(minutes: Range) -> str:
    return f"{minutes.low:,.0f} to {minutes.high:,.0f}"


def _gib(size: int | None) -> str:
    return f"{(size or 0) / GIB:,.2f} GiB"


def _billions(count: int | None) -> str:
    return f"{count / 1e9:,.2f} billion" if count else "an unknown number of"
