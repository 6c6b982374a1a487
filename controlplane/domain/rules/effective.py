"""Where a runtime uses another value than the one asked for, and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from controlplane.domain.memory.native_limits import (
    effective_batch_size,
    effective_sequence_length,
)
from controlplane.domain.rules.context import Context
from controlplane.domain.spec.trt_llm import TrtLlmV1


@dataclass(frozen=True, kw_only=True)
class EffectiveValue:
    """One setting as asked and as used."""

    field: str
    asked: Any
    effective: Any
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the stable form that REST, commands and rows have."""
        return {
            "field": self.field,
            "asked": self.asked,
            "effective": self.effective,
            "reason": self.reason,
        }


def effective_values(context: Context) -> tuple[EffectiveValue, ...]:
    """Return every setting whose value in use differs from the one in the config."""
    found = [*_v1(context)]
    if context.runtime == "native":
        found += _native(context)
    return tuple(value for value in found if value.asked != value.effective)


def _v1(context: Context) -> Iterator[EffectiveValue]:
    engine = context.spec.trt_llm
    if not isinstance(engine, TrtLlmV1):
        return
    build, is_encoder = engine.build, engine.build.base_model.is_encoder
    if is_encoder:
        for name in ("tensor_parallel_count", "pipeline_parallel_count", "sequence_parallel_count"):
            yield EffectiveValue(
                field=f"trt_llm.build.{name}",
                asked=getattr(build, name),
                effective=1,
                reason="An encoder runs on one card.",
            )
        yield EffectiveValue(
            field="trt_llm.build.max_num_tokens",
            asked=build.max_num_tokens,
            effective=build.effective_max_num_tokens,
            reason="An encoder that names no limit gets room for long inputs.",
        )
    elif engine.build.speculator is not None:
        yield EffectiveValue(
            field="trt_llm.runtime.enable_chunked_context",
            asked=engine.runtime.enable_chunked_context,
            effective=False,
            reason="Lookahead decoding excludes chunked prefill.",
        )


def _native(context: Context) -> Iterator[EffectiveValue]:
    spec = context.spec
    yield EffectiveValue(
        field=f"{spec.limits_path}.max_batch_size",
        asked=spec.max_batch_size,
        effective=effective_batch_size(spec),
        reason="A CPU decodes few rows at a time; write a number to choose another.",
    )
    if context.has("checkpoint"):
        yield EffectiveValue(
            field=f"{spec.limits_path}.max_seq_len",
            asked=spec.max_seq_len,
            effective=effective_sequence_length(spec, context.checkpoint),
            reason="The model's own limit, but no more than 8,192 tokens unless asked for.",
        )
