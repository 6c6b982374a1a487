"""The native engine's Prometheus page -> numbers under the names used here."""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.runtimes.exposition import read_exposition

PATH = "/metrics"
PLAIN: Mapping[str, str] = MappingProxyType(
    {
        "engine_requests_running": "requests_running",
        "engine_requests_waiting": "requests_waiting",
        "engine_kv_cache_used_ratio": "kv_cache_used_ratio",
        "engine_kv_cache_bytes": "kv_cache_bytes",
        "engine_kv_cache_planned_bytes": "kv_cache_planned_bytes",
        "engine_prompt_tokens_total": "prompt_tokens_total",
        "engine_completion_tokens_total": "completion_tokens_total",
        "engine_requests_failed_total": "requests_failed_total",
        "engine_preemptions_total": "preemptions_total",
        "engine_prefix_hit_tokens_total": "prefix_cache_hits_total",
        "engine_drafts_total": "drafts_total",
        "engine_draft_tokens_total": "draft_tokens_total",
        "engine_accepted_draft_tokens_total": "accepted_draft_tokens_total",
        "engine_drafted_answer_tokens_total": "drafted_answer_tokens_total",
        "engine_drafted_answer_seconds_total": "drafted_answer_seconds_total",
        "engine_undrafted_answer_tokens_total": "undrafted_answer_tokens_total",
        "engine_undrafted_answer_seconds_total": "undrafted_answer_seconds_total",
    }
)
HISTOGRAMS: Mapping[str, str] = MappingProxyType(
    {
        "engine_time_to_first_token_seconds": "time_to_first_token_seconds",
        "engine_inter_token_seconds": "inter_token_seconds",
        "engine_end_to_end_seconds": "end_to_end_seconds",
    }
)
ACCEPTED_BY_POSITION = "engine_drafts_accepted_per_position_total"
SINCE: Mapping[str, str] = MappingProxyType({})


def read(exposition_text: str) -> dict[str, float]:
    return read_exposition(
        exposition_text,
        plain=PLAIN,
        histograms=HISTOGRAMS,
        accepted_by_position=ACCEPTED_BY_POSITION,
    )
