"""Where the native engine uses another value than the one asked for, and why."""

from collections.abc import Iterator

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.memory.native_limits import (
    effective_batch_size,
    effective_dtype,
    effective_sequence_length,
    effective_step_tokens,
)
from controlplane.domain.runtimes.effective_value import EffectiveValue
from controlplane.domain.runtimes.runtime import PlannedDevice
from controlplane.domain.spec import Spec
from controlplane.domain.spec.engine_build import Speculator

_BUILD = "trt_llm.build"
_DRAFTS = {
    "lookahead_windows_size": (
        "The native engine looks drafts up in the request's own tokens and makes none up itself."
    ),
    "lookahead_verification_set_size": (
        "The native engine verifies one draft a step, as long as its match is, up to "
        "`lookahead_ngram_size`: on a CPU a second one costs more than it brings."
    ),
    "enable_b10_lookahead": "Drafts are looked up and nothing else is offered here.",
}


def effective_values(
    spec: Spec, checkpoint: CheckpointFacts | None, device: PlannedDevice | None
) -> Iterator[EffectiveValue]:
    is_encoder = spec.base_model.is_encoder
    yield EffectiveValue(
        field=f"{spec.limits_path}.max_batch_size",
        asked=spec.max_batch_size,
        effective=effective_batch_size(spec),
        reason=(
            "The most texts that one forward takes."
            if is_encoder
            else "The native engine decodes few rows at a time; write a number to choose another."
        ),
    )
    yield from _computed_in(spec, device)
    if not is_encoder:
        yield from _drafted(spec.speculator)
    if checkpoint is not None:
        if not is_encoder:
            yield EffectiveValue(
                field=f"{spec.limits_path}.max_num_tokens",
                asked=spec.max_num_tokens,
                effective=effective_step_tokens(spec, checkpoint),
                reason="A longer piece of a prompt is no faster here; it enters in several.",
            )
        yield EffectiveValue(
            field=f"{spec.limits_path}.max_seq_len",
            asked=spec.max_seq_len,
            effective=effective_sequence_length(spec, checkpoint),
            reason=(
                "The longest text that the model reads; what is longer is cut."
                if is_encoder
                else "The model's own limit, but no more than 8,192 tokens unless asked for."
            ),
        )


def _computed_in(spec: Spec, device: PlannedDevice | None) -> Iterator[EffectiveValue]:
    """Yield what `auto` comes to on the GPU that a plan is made for."""
    if device is None:
        return
    if device.kind != CPU:
        reason = "A GPU computes in bfloat16."
    elif spec.base_model.is_encoder:
        reason = "Vectors are stored and compared, so a CPU makes them in full."
    elif device.computes_bfloat16:
        reason = "The processor multiplies bfloat16 itself (AVX512-BF16 or AMX), in half the time."
    else:
        reason = "Not every processor here multiplies bfloat16 itself (AVX512-BF16 or AMX)."
    yield EffectiveValue(
        field="enginehouse.dtype",
        asked=spec.settings.dtype.value,
        effective=effective_dtype(
            spec, kind=device.kind, computes_bfloat16=device.computes_bfloat16
        ).value,
        reason=reason,
    )


def _drafted(speculator: Speculator | None) -> Iterator[EffectiveValue]:
    """Yield the sizes of which the engine's own drafter knows one value."""
    if speculator is None:
        return
    for name, reason in _DRAFTS.items():
        yield EffectiveValue(
            field=f"{_BUILD}.speculator.{name}",
            asked=getattr(speculator, name),
            effective=True if name == "enable_b10_lookahead" else 1,
            reason=reason,
        )
