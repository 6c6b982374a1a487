"""TensorRT-LLM's Prometheus page -> numbers under the names used here.

`return_perf_metrics` opens the page, `enable_iter_perf_stats` fills the gauges; the rendered file
sets both. 1.2 counts when a request finishes, and its buckets of time between tokens begin at 10
ms, so the gateway's own figure is the finer one. Source: TensorRT-LLM `metrics/collector.py`, the
1.2 set and the one of 2026, checked 2026-11-27.
"""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.runtimes.exposition import read_exposition

PATH = "/prometheus/metrics"
PLAIN: Mapping[str, str] = MappingProxyType(
    {
        "trtllm_request_success_total": "requests_finished_total",
        "trtllm_kv_cache_utilization": "kv_cache_used_ratio",
        "trtllm_kv_cache_hit_rate": "prefix_cache_hit_ratio",
        "trtllm_num_requests_running": "requests_running",
        "trtllm_num_requests_waiting": "requests_waiting",
        "trtllm_prompt_tokens_total": "prompt_tokens_total",
        "trtllm_generation_tokens_total": "completion_tokens_total",
        "trtllm_prompt_cached_tokens_total": "prefix_cache_hits_total",
        "trtllm_request_error_total": "requests_failed_total",
        "trtllm_spec_decode_num_draft_tokens_total": "draft_tokens_total",
        "trtllm_spec_decode_num_accepted_tokens_total": "accepted_draft_tokens_total",
    }
)
SINCE: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("requests_running", "requests_waiting", "prompt_tokens_total", "completion_tokens_total",
         "prefix_cache_hits_total", "requests_failed_total", "draft_tokens_total",
         "accepted_draft_tokens_total"), "1.3")
)  # fmt: skip
"""Our names that the 1.2 page does not have; the gateway counts requests and tokens itself."""
HISTOGRAMS: Mapping[str, str] = MappingProxyType(
    {
        "trtllm_time_to_first_token_seconds": "time_to_first_token_seconds",
        "trtllm_time_per_output_token_seconds": "inter_token_seconds",
        "trtllm_e2e_request_latency_seconds": "end_to_end_seconds",
        "trtllm_request_queue_time_seconds": "queue_seconds",
    }
)


def read(exposition_text: str) -> dict[str, float]:
    return read_exposition(exposition_text, plain=PLAIN, histograms=HISTOGRAMS)
