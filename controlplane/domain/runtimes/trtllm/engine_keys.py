"""Keys of TensorRT-LLM's engine arguments -> fields of a config, v1 where it can say them all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.domain.commands.checkpoints import adapter_place
from controlplane.domain.commands.draft import ADAPTERS, Draft
from controlplane.domain.commands.invocation import CommandContext
from controlplane.domain.commands.lookahead import REASON, SPECULATOR, lookahead_for
from controlplane.domain.commands.words import Word

V1_FIELDS: Mapping[str, str] = {
    "max_seq_len": "trt_llm.build.max_seq_len",
    "max_batch_size": "trt_llm.build.max_batch_size",
    "max_num_tokens": "trt_llm.build.max_num_tokens",
    "max_beam_width": "trt_llm.build.max_beam_width",
    "tensor_parallel_size": "trt_llm.build.tensor_parallel_count",
    "pipeline_parallel_size": "trt_llm.build.pipeline_parallel_count",
    "context_parallel_size": "trt_llm.build.sequence_parallel_count",
    "moe_expert_parallel_size": "trt_llm.build.moe_expert_parallel_option",
    "enable_chunked_prefill": "trt_llm.runtime.enable_chunked_context",
    "free_gpu_memory_fraction": "trt_llm.runtime.kv_cache_free_gpu_mem_fraction",
}
V2_FIELDS: Mapping[str, str] = {
    name: f"trt_llm.runtime.{name}"
    for name in ("max_seq_len", "max_batch_size", "max_num_tokens", "tensor_parallel_size",
                 "enable_chunked_prefill")
}  # fmt: skip
_LENGTHS = frozenset({"max_seq_len", "max_batch_size", "max_num_tokens", "max_beam_width"})
PATCH = "trt_llm.runtime.patch_kwargs"
HOST_BYTES = "trt_llm.runtime.kv_cache_host_memory_bytes"
POLICY = "trt_llm.runtime.batch_scheduler_policy"
RANK = "trt_llm.build.lora_configuration.max_lora_rank"
MODULES = "trt_llm.build.lora_configuration.lora_target_modules"
DEFAULT_BATCH_SIZE = 2048
"""What trtllm-serve takes where none is given; a config that gives none means 256."""
DRIVERS_OWN: Mapping[str, object] = {
    "guided_decoding_backend": "xgrammar",
    "return_perf_metrics": True,
    "enable_iter_perf_stats": True,
    "perf_metrics_max_requests": 1000,
    "stream_interval": 1,
    "backend": "pytorch",
}
"""What every engine gets anyway."""
_BATCH_REASON = (
    "trtllm-serve takes 2048 where nothing is given, and a config 256, so it is written out."
)
_CHUNKED_REASON = (
    "trtllm-serve leaves chunked prefill off where nothing is given, and a config turns it on, so "
    "it is written out: prompts longer than `max_num_tokens` are refused."
)
_V2_REASON = "The v1 stack has no field for it; a v2 config passes it to the engine as given."


@dataclass(kw_only=True)
class EngineKeys:
    """Engine arguments from flags and file, each with where it was said."""

    values: dict[str, Any] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)
    words: dict[str, Word] = field(default_factory=dict)
    from_file: set[str] = field(default_factory=set)

    def add(self, flag: str, name: str, value: Any, *, from_file: bool = False) -> None:
        """Add a key; what the file says wins over flags."""
        if name in self.from_file and not from_file:
            return
        self.values[name] = value
        self.flags[name] = flag
        if from_file:
            self.from_file.add(name)

    def take(self, name: str) -> Any:
        """Return a key's value and take it away, or None."""
        return self.values.pop(name, None)


def carry_engine_keys(draft: Draft, keys: EngineKeys, context: CommandContext) -> None:
    """Set the fields of v1, or of v2 where v1 cannot say everything."""
    for name, value in DRIVERS_OWN.items():
        if keys.values.get(name) == value:
            draft.leave(f"{name}: {value}", "Every engine gets it anyway.")
            keys.take(name)
    _lift_lengths(keys)
    _lift_memory_share(keys)
    if _fits_v1(keys.values):
        _carry_v1(draft, keys, context)
    else:
        _carry_v2(draft, keys)


def _lift_lengths(keys: EngineKeys) -> None:
    """Bring lengths inside `build_config`, as compiled engines had them, under their own names."""
    block = keys.values.get("build_config")
    if not isinstance(block, Mapping):
        return
    for name in _LENGTHS & block.keys() - keys.values.keys():
        keys.add(f"build_config.{name}: {block[name]}", name, block[name], from_file=True)
    rest = {name: each for name, each in block.items() if name not in _LENGTHS}
    keys.take("build_config")
    if rest:
        keys.values["build_config"] = rest


def _lift_memory_share(keys: EngineKeys) -> None:
    cache = keys.values.get("kv_cache_config")
    if isinstance(cache, Mapping) and "free_gpu_memory_fraction" in cache:
        rest = {name: each for name, each in cache.items() if name != "free_gpu_memory_fraction"}
        share = cache["free_gpu_memory_fraction"]
        keys.add(f"kv_cache_config.free_gpu_memory_fraction: {share}",
                 "free_gpu_memory_fraction", share, from_file=True)  # fmt: skip
        keys.values["kv_cache_config"] = rest


def _fits_v1(values: Mapping[str, Any]) -> bool:
    readers: Mapping[str, Callable[[Any], bool]] = {
        "kv_cache_config": _is_plain_cache,
        "scheduler_config": _is_plain_scheduler,
        "speculative_config": _is_from_text,
        "disable_overlap_scheduler": lambda _: "speculative_config" in values,
        "lora_config": lambda given: isinstance(given, Mapping),
        "cuda_graph_config": _is_plain_graphs,
    }
    return all(
        name in V1_FIELDS or (name in readers and readers[name](value))
        for name, value in values.items()
    )


def _carry_v1(draft: Draft, keys: EngineKeys, context: CommandContext) -> None:
    for name, target in V1_FIELDS.items():
        _carry(draft, keys, name, target)
    _write_out_defaults(draft, V1_FIELDS)
    for name, target in (("host_cache_size", HOST_BYTES),):
        if (size := _inner(keys, "kv_cache_config", name)) is not None:
            draft.carry(f"kv_cache_config.{name}: {size}", target, size)
    if policy := _inner(keys, "scheduler_config", "capacity_scheduler_policy"):
        shown = f"scheduler_config.capacity_scheduler_policy: {policy}"
        draft.carry(shown, POLICY, str(policy).lower())
    if _inner(keys, "kv_cache_config", "enable_block_reuse") is not None:
        draft.leave("kv_cache_config.enable_block_reuse: true", "Prefixes are always reused.")
    _carry_speculation(draft, keys)
    _carry_lora(draft, keys, context)


def _carry_v2(draft: Draft, keys: EngineKeys) -> None:
    """Set the v2 fields; everything else goes to the engine as it stands."""
    draft.fields.pop("trt_llm.build.base_model", None)
    draft.fields["trt_llm.inference_stack"] = "v2"
    for name, target in V2_FIELDS.items():
        _carry(draft, keys, name, target)
    _write_out_defaults(draft, V2_FIELDS)
    if (share := keys.take("free_gpu_memory_fraction")) is not None:
        cache = keys.values.get("kv_cache_config")
        keys.values["kv_cache_config"] = {
            **(cache if isinstance(cache, Mapping) else {}),
            "free_gpu_memory_fraction": share,
        }
    shown = ", ".join(keys.values)
    draft.change(shown, PATCH, dict(keys.values), _V2_REASON)


def _carry(draft: Draft, keys: EngineKeys, name: str, target: str) -> None:
    value = keys.take(name)
    if value is None:
        return
    flag = keys.flags[name]
    draft.carry(f"{flag}: {value}" if flag == name else flag, target, value)
    if word := keys.words.get(name):
        draft.note_origin(flag, word, target)


def _write_out_defaults(draft: Draft, fields: Mapping[str, str]) -> None:
    batch, chunked = fields["max_batch_size"], fields["enable_chunked_prefill"]
    if batch not in draft.fields:
        draft.change("--max_batch_size (not given)", batch, DEFAULT_BATCH_SIZE, _BATCH_REASON)
    if chunked not in draft.fields:
        draft.change("--enable_chunked_prefill (not given)", chunked, False, _CHUNKED_REASON)


def _carry_speculation(draft: Draft, keys: EngineKeys) -> None:
    given = keys.take("speculative_config")
    if not isinstance(given, Mapping):
        return
    kind = given.get("decoding_type")
    shown = f"speculative_config: {kind}"
    if kind == "Lookahead":
        names = {"lookahead_windows_size": "max_window_size",
                 "lookahead_ngram_size": "max_ngram_size",
                 "lookahead_verification_set_size": "max_verification_set_size"}  # fmt: skip
        sizes = {ours: given.get(theirs, 1) for ours, theirs in names.items()}
        draft.carry(shown, SPECULATOR, {"speculative_decoding_mode": "LOOKAHEAD_DECODING", **sizes})
    else:
        length = given.get("max_draft_len")
        drafted = length if isinstance(length, int) else 5
        draft.change(shown, SPECULATOR, lookahead_for(drafted), REASON)


def _carry_lora(draft: Draft, keys: EngineKeys, context: CommandContext) -> None:
    given = keys.take("lora_config")
    if not isinstance(given, Mapping):
        return
    folders = given.get("lora_dir")
    folders = [one for one in folders if isinstance(one, str)] if isinstance(folders, list) else []
    if folders:
        places = {_adapter_name(one): adapter_place(one, context) for one in folders}
        reason = "The file names folders only, so each adapter is called like its folder."
        draft.change("lora_config.lora_dir", ADAPTERS, places, reason)
    else:
        draft.ask("lora_config", ADAPTERS, "Which adapters? They are fixed at build time.")
    for name, target in (("max_lora_rank", RANK), ("lora_target_modules", MODULES)):
        if given.get(name):
            draft.carry(f"lora_config.{name}", target, given[name])
    for name in set(given) - {"lora_dir", "max_lora_rank", "lora_target_modules"}:
        draft.leave(f"lora_config.{name}", "It is set from `lora_adapters`.")


def _adapter_name(folder: str) -> str:
    return folder.rstrip("/").rsplit("/", 1)[-1] or "adapter"


def _inner(keys: EngineKeys, block: str, name: str) -> Any:
    given = keys.values.get(block)
    return given.get(name) if isinstance(given, Mapping) else None


def _is_plain_cache(given: Any) -> bool:
    return (
        isinstance(given, Mapping)
        and set(given) <= {"host_cache_size", "enable_block_reuse"}
        and given.get("enable_block_reuse", True) is True
    )


def _is_plain_scheduler(given: Any) -> bool:
    known = {"GUARANTEED_NO_EVICT", "MAX_UTILIZATION"}
    return (
        isinstance(given, Mapping)
        and set(given) == {"capacity_scheduler_policy"}
        and given["capacity_scheduler_policy"] in known
    )


def _is_from_text(given: Any) -> bool:
    return isinstance(given, Mapping) and given.get("decoding_type") in ("NGram", "Lookahead")


def _is_plain_graphs(given: Any) -> bool:
    return isinstance(given, Mapping) and set(given) <= {"enable_padding", "max_batch_size"}
