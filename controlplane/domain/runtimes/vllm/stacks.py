"""Which stack a command becomes: v1, or v2 where only that holds what the command says."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.commands.command_context import PIPELINE_PARALLEL
from controlplane.domain.commands.draft import ADAPTERS, Draft
from controlplane.domain.commands.lookahead import SPECULATOR
from controlplane.domain.commands.options import Option
from controlplane.domain.runtimes.vllm.engine_options import PATCH, Held, Left, carry_held
from controlplane.domain.runtimes.vllm.own_options import carry_held_by_v2

BASE_MODEL = "trt_llm.build.base_model"
_RANK = "trt_llm.build.lora_configuration.max_lora_rank"
_MOVES: Mapping[str, str] = {
    "trt_llm.build.max_seq_len": "trt_llm.runtime.max_seq_len",
    "trt_llm.build.max_batch_size": "trt_llm.runtime.max_batch_size",
    "trt_llm.build.max_num_tokens": "trt_llm.runtime.max_num_tokens",
    "trt_llm.build.tensor_parallel_count": "trt_llm.runtime.tensor_parallel_size",
    "trt_llm.runtime.enable_chunked_context": "trt_llm.runtime.enable_chunked_prefill",
    PIPELINE_PARALLEL: f"{PATCH}.pipeline_parallel_size",
    "trt_llm.build.moe_expert_parallel_option": f"{PATCH}.moe_expert_parallel_size",
    "trt_llm.runtime.kv_cache_free_gpu_mem_fraction": (
        f"{PATCH}.kv_cache_config.free_gpu_memory_fraction"
    ),
    "trt_llm.runtime.kv_cache_host_memory_bytes": f"{PATCH}.kv_cache_config.host_cache_size",
    SPECULATOR: f"{PATCH}.speculative_config",
}
"""Settings of v1 and what says the same in v2."""
_ONLY_V1: Mapping[str, str] = {
    ADAPTERS: "adapters belong",
    _RANK: "adapters belong",
}
_DEFAULT_TOKENS = "trt_llm.runtime.request_default_max_tokens"
_NO_DEFAULT = "The v2 stack, which the rest of the command takes, has no default length of answers."


def settle_stack(draft: Draft, results: tuple[Held | Left, ...], options: Sequence[Option]) -> None:
    """Carry what only v2 holds, or in v1 what vLLM's own arguments hold."""
    for each in results:
        if isinstance(each, Left):
            draft.leave(each.flag, each.reason)
    settings = [each for each in results if isinstance(each, Held)]
    if not settings:
        return
    if kept := _of_v1(draft):
        for each in settings:
            if carry_held_by_v2(draft, each.flag, each.path, each.value, options):
                continue
            draft.leave(each.flag, f"Only the v2 stack holds it, and {kept} to the v1 stack.")
        return
    _become_v2(draft)
    for each in settings:
        carry_held(draft, each)


def _of_v1(draft: Draft) -> str:
    """Return what in the draft v2 has no place for, in words."""
    if draft.fields.get(BASE_MODEL) != "decoder":
        return "an encoder belongs"
    return next((words for field, words in _ONLY_V1.items() if field in draft.fields), "")


def _become_v2(draft: Draft) -> None:
    draft.fields.pop(BASE_MODEL, None)
    draft.fields["trt_llm.inference_stack"] = "v2"
    draft.give_up(_DEFAULT_TOKENS, _NO_DEFAULT)
    for old, new in _MOVES.items():
        if old in draft.fields:
            draft.move(old, new, _in_v2(old, draft.fields[old]))


def _in_v2(field: str, value: Any) -> Any:
    if field == SPECULATOR and isinstance(value, Mapping):
        return {"decoding_type": "NGram", "max_draft_len": 2 * value["lookahead_ngram_size"] - 3}
    return value
