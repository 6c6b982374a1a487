"""Which settings of a config an artifact is made without: they change by a roll, without a build.

A list of those that certainly are; whatever is not on it asks for a build, which may still find
that it makes the same.
"""

from collections.abc import Mapping
from typing import Any

from controlplane.domain.reuse import Difference, differences
from controlplane.domain.spec.enginehouse_settings import EnginehouseSettings
from controlplane.domain.spec.spec import Spec

_V1 = (
    "kv_cache_free_gpu_mem_fraction kv_cache_host_memory_bytes enable_chunked_context "
    "batch_scheduler_policy request_default_max_tokens served_model_name total_token_limit "
    "webserver_default_route lora_cache_max_adapter_size lora_cache_optimal_adapter_size "
    "lora_cache_gpu_memory_fraction lora_cache_host_memory_bytes"
)
_V2 = "max_seq_len max_batch_size max_num_tokens enable_chunked_prefill"
_LOOKAHEAD = "lookahead_windows_size lookahead_ngram_size lookahead_verification_set_size"
_OURS = "draft_factor undrafted_share generic_tools shared_prefixes extra_routes"
_NEVER_SERVED = "model_name description runtime environment_variables spec_version"


def _under(block: str, names: str) -> frozenset[str]:
    return frozenset(f"{block}{name}" for name in names.split())


SERVING_FIELDS = (
    _under("", _NEVER_SERVED)
    | _under("model_metadata.", "tags repo_id example_model_input")
    | _under("resources.", "cpu memory")
    | _under("trt_llm.build.", "max_seq_len max_batch_size max_num_tokens")
    | _under("trt_llm.build.speculator.", _LOOKAHEAD)
    | _under("trt_llm.runtime.", f"{_V1} {_V2}")
    | _under("enginehouse.", _OURS)
    | _under("model_metadata.enginehouse.", _OURS)
)
"""Arguments that a config hands to an engine by the engine's own names are not among them: one of
them may say how weights are read, which the gate has measured."""


def deciding(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Return what differs of two stored specs that an artifact may depend on."""
    differing = differences(_as_read(before), _as_read(after))
    return tuple(each for each in differing if not _is_serving(each.path))


def whole(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored spec with every field, those too that came after it was stored."""
    return Spec.model_validate(spec).model_dump(mode="json")


def _as_read(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the spec with the block of ours, where it leaves that out."""
    read = whole(spec)
    if read["enginehouse"] is None:
        read["enginehouse"] = EnginehouseSettings().model_dump(mode="json")
    return read


def _is_serving(path: str) -> bool:
    return any(path == field or path.startswith(f"{field}.") for field in SERVING_FIELDS)
