"""Where a runtime uses another value than the one asked for, and why."""

from collections.abc import Iterator

from controlplane.domain.rules.context import Context
from controlplane.domain.runtimes.effective_value import EffectiveValue
from controlplane.domain.spec.choices import RuntimeChoice
from controlplane.domain.spec.trt_llm import TrtLlmV1

_BUILD = "trt_llm.build"


def effective_values(context: Context) -> tuple[EffectiveValue, ...]:
    values = [*_runtime(context), *_v1(context), *_calibration(context)]
    checkpoint = context.checkpoint if context.has("checkpoint") else None
    values += context.engine.effective_values(context.spec, checkpoint, context.device)
    return tuple(value for value in values if value.asked != value.effective)


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
    elif engine.build.speculator is not None and context.engine.drafts_exclude_chunked_prefill:
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
