"""Where a runtime uses another value than the one asked for, and why."""

from collections.abc import Iterator

from controlplane.domain.facts.encoder_routes import default_route
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.memory.native_limits import (
    effective_batch_size,
    effective_dtype,
    effective_sequence_length,
    effective_step_tokens,
)
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.effective_value import EffectiveValue
from controlplane.domain.rules.effective_vllm import vllm_values
from controlplane.domain.spec.choices import RuntimeChoice
from controlplane.domain.spec.engine_build import Speculator
from controlplane.domain.spec.trt_llm import TrtLlmV1

_BUILD = "trt_llm.build"
_NATIVE_DRAFTS = {
    "lookahead_windows_size": (
        "The native engine looks drafts up in the request's own tokens and makes none up itself."
    ),
    "lookahead_verification_set_size": (
        "The native engine verifies one draft a step, as long as its match is, up to "
        "`lookahead_ngram_size`: on a CPU a second one costs more than it brings."
    ),
    "enable_b10_lookahead": "Drafts are looked up and nothing else is offered here.",
}


def effective_values(context: Context) -> tuple[EffectiveValue, ...]:
    """Return every setting whose value in use differs from the one in the config."""
    found = [*_runtime(context), *_v1(context), *_calibration(context)]
    found += _native(context) if context.runtime == "native" else _gpu(context)
    return tuple(value for value in found if value.asked != value.effective)


def _runtime(context: Context) -> Iterator[EffectiveValue]:
    """Yield what `auto` means on a GPU; on a CPU it is always the native engine."""
    if context.chosen is not None and context.spec.accelerator is not None:
        yield EffectiveValue(
            field=f"{context.spec.settings_path}.runtime",
            asked=RuntimeChoice.AUTO.value,
            effective=context.chosen.runtime,
            reason=context.chosen.reason,
        )


def _calibration(context: Context) -> Iterator[EffectiveValue]:
    spec = context.spec
    if not spec.quantization_type.is_none:
        yield EffectiveValue(
            field=f"{_BUILD}.quantization_config.calib_size",
            asked=spec.engine_build.quantization_config.calib_size,
            effective=spec.calibration_samples,
            reason="`enginehouse.calibration.samples` says how many rows are used.",
        )


def _v1(context: Context) -> Iterator[EffectiveValue]:
    engine = context.spec.trt_llm
    if not isinstance(engine, TrtLlmV1):
        return
    if engine.build.base_model.is_encoder:
        yield from _encoder(engine)
    elif engine.build.speculator is not None and context.runtime == "trtllm":
        yield EffectiveValue(
            field="trt_llm.runtime.enable_chunked_context",
            asked=engine.runtime.enable_chunked_context,
            effective=False,
            reason="Lookahead decoding excludes chunked prefill.",
        )


def _encoder(engine: TrtLlmV1) -> Iterator[EffectiveValue]:
    build = engine.build
    for name in ("tensor_parallel_count", "pipeline_parallel_count", "sequence_parallel_count"):
        yield EffectiveValue(
            field=f"{_BUILD}.{name}",
            asked=getattr(build, name),
            effective=1,
            reason="An encoder runs on one GPU.",
        )
    yield EffectiveValue(
        field=f"{_BUILD}.max_num_tokens",
        asked=build.max_num_tokens,
        effective=build.effective_max_num_tokens,
        reason="An encoder that names no limit gets room for long inputs.",
    )
    for name in ("paged_kv_cache", "use_paged_context_fmha"):
        yield EffectiveValue(
            field=f"{_BUILD}.plugin_configuration.{name}",
            asked=getattr(build.plugin_configuration, name),
            effective=False,
            reason="An encoder keeps no KV cache, so there are no blocks to page or reuse.",
        )


def _gpu(context: Context) -> Iterator[EffectiveValue]:
    spec, is_encoder = context.spec, context.spec.base_model.is_encoder
    if context.has("checkpoint") and spec.max_seq_len is None and not is_encoder:
        yield EffectiveValue(
            field=f"{spec.limits_path}.max_seq_len",
            asked=None,
            effective=context.checkpoint.max_positions,
            reason="The model's own limit, as none is written.",
        )
    if not spec.quantization_type.is_none:
        yield EffectiveValue(
            field=f"{_BUILD}.num_builder_gpus",
            asked=spec.engine_build.num_builder_gpus,
            effective=spec.engine_build.num_builder_gpus or spec.accelerator_count,
            reason="A build leases as many GPUs as a replica, as no number is written.",
        )
    if is_encoder:
        yield from _route(context)
    if context.runtime == "vllm":
        yield from vllm_values(spec, context.checkpoint if context.has("checkpoint") else None)
    elif isinstance(spec.trt_llm, TrtLlmV1) and not is_encoder:
        yield from _paged(spec.trt_llm)
        yield from _padded(context)


def _route(context: Context) -> Iterator[EffectiveValue]:
    engine = context.spec.trt_llm
    if not isinstance(engine, TrtLlmV1) or not context.has("checkpoint"):
        return
    asked = engine.runtime.webserver_default_route
    yield EffectiveValue(
        field="trt_llm.runtime.webserver_default_route",
        asked=asked,
        effective=asked or default_route(context.checkpoint.role),
        reason="Chosen by what the checkpoint does, as none is written.",
    )


def _paged(engine: TrtLlmV1) -> Iterator[EffectiveValue]:
    for name in ("paged_kv_cache", "use_paged_context_fmha"):
        yield EffectiveValue(
            field=f"{_BUILD}.plugin_configuration.{name}",
            asked=getattr(engine.build.plugin_configuration, name),
            effective=True,
            reason="This engine always pages its KV cache and reuses the blocks of equal prompts.",
        )


def _padded(context: Context) -> Iterator[EffectiveValue]:
    """Yield what drafts add: room behind a sequence, and a step that takes every row's drafts."""
    spec = context.spec
    drafts = spec.speculator.draft_length if spec.speculator else None
    if not drafts:
        return
    if spec.max_seq_len is not None:
        yield EffectiveValue(
            field=f"{_BUILD}.max_seq_len",
            asked=spec.max_seq_len,
            effective=spec.max_seq_len + drafts,
            reason=f"Room for {drafts} drafted tokens is kept behind each sequence.",
        )
    yield EffectiveValue(
        field=f"{_BUILD}.max_num_tokens",
        asked=spec.max_num_tokens,
        effective=max(spec.max_num_tokens, spec.max_batch_size * (drafts + 1)),
        reason="A step must take a token and all drafts of every row.",
    )


def _native(context: Context) -> Iterator[EffectiveValue]:
    spec, is_encoder = context.spec, context.spec.base_model.is_encoder
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
    yield from _computed_in(context)
    if is_encoder:
        yield from _route(context)
    else:
        yield from _drafted_on_native(spec.speculator)
    if context.has("checkpoint"):
        if not is_encoder:
            yield EffectiveValue(
                field=f"{spec.limits_path}.max_num_tokens",
                asked=spec.max_num_tokens,
                effective=effective_step_tokens(spec, context.checkpoint),
                reason="A longer piece of a prompt is no faster here; it enters in several.",
            )
        yield EffectiveValue(
            field=f"{spec.limits_path}.max_seq_len",
            asked=spec.max_seq_len,
            effective=effective_sequence_length(spec, context.checkpoint),
            reason=(
                "The longest text that the model reads; what is longer is cut."
                if is_encoder
                else "The model's own limit, but no more than 8,192 tokens unless asked for."
            ),
        )


def _computed_in(context: Context) -> Iterator[EffectiveValue]:
    """Yield what `auto` comes to on the GPU that a plan is made for."""
    device, is_encoder = context.device, context.spec.base_model.is_encoder
    if device is None:
        return
    if device.kind != CPU:
        reason = "A GPU computes in bfloat16."
    elif is_encoder:
        reason = "Vectors are stored and compared, so a CPU makes them in full."
    elif device.computes_bfloat16:
        reason = "The processor multiplies bfloat16 itself (AVX512-BF16 or AMX), in half the time."
    else:
        reason = "Not every processor here multiplies bfloat16 itself (AVX512-BF16 or AMX)."
    yield EffectiveValue(
        field="enginehouse.dtype",
        asked=context.spec.settings.dtype.value,
        effective=effective_dtype(
            context.spec, kind=device.kind, computes_bfloat16=device.computes_bfloat16
        ).value,
        reason=reason,
    )


def _drafted_on_native(speculator: Speculator | None) -> Iterator[EffectiveValue]:
    """Yield the sizes of which the engine's own drafter knows one value."""
    if speculator is None:
        return
    for name, reason in _NATIVE_DRAFTS.items():
        yield EffectiveValue(
            field=f"{_BUILD}.speculator.{name}",
            asked=getattr(speculator, name),
            effective=True if name == "enable_b10_lookahead" else 1,
            reason=reason,
        )
