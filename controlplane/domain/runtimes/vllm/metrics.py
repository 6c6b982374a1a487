"""vLLM's Prometheus page -> numbers under the names used here.

Source: vLLM 0.25.1 and 0.33.0, `v1/metrics/loggers.py` and `v1/spec_decode/metrics.py`, checked
2026-11-28.
"""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.runtimes.exposition import read_exposition

PATH = "/metrics"
PLAIN: Mapping[str, str] = MappingProxyType(
    {
        "vllm:num_requests_running": "requests_running",
        "vllm:num_requests_waiting": "requests_waiting",
        "vllm:kv_cache_usage_perc": "kv_cache_used_ratio",
        "vllm:prompt_tokens_total": "prompt_tokens_total",
        "vllm:generation_tokens_total": "completion_tokens_total",
        "vllm:num_preemptions_total": "preemptions_total",
        "vllm:prefix_cache_queries_total": "prefix_cache_queries_total",
        "vllm:prefix_cache_hits_total": "prefix_cache_hits_total",
        "vllm:request_success_total": "requests_finished_total",
        "vllm:spec_decode_num_drafts_total": "drafts_total",
        "vllm:spec_decode_num_draft_tokens_total": "draft_tokens_total",
        "vllm:spec_decode_num_accepted_tokens_total": "accepted_draft_tokens_total",
    }
)
HISTOGRAMS: Mapping[str, str] = MappingProxyType(
    {
        "vllm:time_to_first_token_seconds": "time_to_first_token_seconds",
        "vllm:inter_token_latency_seconds": "inter_token_seconds",
        "vllm:e2e_request_latency_seconds": "end_to_end_seconds",
        "vllm:request_queue_time_seconds": "queue_seconds",
    }
)
ACCEPTED_BY_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
SINCE: Mapping[str, str] = MappingProxyType({})


def read(exposition_text: str) -> dict[str, float]:
    return read_exposition(
        exposition_text,
        plain=PLAIN,
        histograms=HISTOGRAMS,
        accepted_by_position=ACCEPTED_BY_POSITION,
    )
