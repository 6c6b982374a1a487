from collections.abc import Iterator

from controlplane.domain.runtimes.effective_value import EffectiveValue
from controlplane.domain.spec import Spec
from controlplane.domain.spec.trt_llm import TrtLlmV1

_BUILD = "trt_llm.build"


def trtllm_values(spec: Spec) -> Iterator[EffectiveValue]:
    if isinstance(spec.trt_llm, TrtLlmV1) and not spec.base_model.is_encoder:
        yield from _paged(spec.trt_llm)
        yield from _padded(spec)


def _paged(engine: TrtLlmV1) -> Iterator[EffectiveValue]:
    for name in ("paged_kv_cache", "use_paged_context_fmha"):
        yield EffectiveValue(
            field=f"{_BUILD}.plugin_configuration.{name}",
            asked=getattr(engine.build.plugin_configuration, name),
            effective=True,
            reason="This engine always pages its KV cache and reuses the blocks of equal prompts.",
        )


def _padded(spec: Spec) -> Iterator[EffectiveValue]:
    """Yield what drafts add: room behind a sequence, and a step that takes every row's drafts."""
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
