from apps.accounts.examples import ADA, CREATED_AT, SEEN_AT

WANTED = {
    "deployment_ids": ["q9w4d2ek"],
    "shape": "chat",
    "load": {"kind": "concurrency", "levels": [1, 8, 64], "seconds": 30, "warm_up_seconds": 5},
    "limits": {"error_share": 0.01, "first_token_p90_seconds": 1.0},
    "name": "before the release",
}
_MADE_OF = {
    "revision": "qwen3-8b@4", "artifact_digest": "sha256:9f2c", "runtime": "vllm",
    "engine_version": "0.25.1", "quantization_type": "fp8_kv", "driver": "570.86.15",
    "replicas": 1, "gateways": 1, "devices": ["NVIDIA H200"],
}  # fmt: skip
_STAGE = {
    "load": "concurrency", "level": 8, "is_partial": False, "seconds": 30.0, "requests": 106,
    "errors": 0, "error_share": 0.0, "errors_by_reason": {}, "warm_up_requests": 17,
    "requests_per_second": 3.53, "texts_per_second": 3.53, "prompt_tokens_per_second": 904.0,
    "completion_tokens_per_second": 904.0, "concurrency_mean": 7.98,
    "first_token_seconds": {"p50": 0.031, "p90": 0.044, "p99": 0.061},
    "inter_token_seconds": {"p50": 0.0087, "p90": 0.0089, "p99": 0.0094},
    "end_to_end_seconds": {"p50": 2.26, "p90": 2.31, "p99": 2.4},
    "prompt_tokens_mean": 256.0, "completion_tokens_mean": 256.0,
    "send_delay_p99_seconds": 0.001, "client_cpu_share": 0.11, "is_client_limited": False,
    "broken_limits": [], "throughput": 904.0, "unit": "tokens/s", "cost_per_million_tokens": None,
}  # fmt: skip
BENCHMARK = {
    "id": "b4m7wq2n",
    "name": "before the release",
    "state": "succeeded",
    "shape": "chat",
    "order": {
        "lengths": {"prompt_tokens": 256, "completion_tokens": 256, "shared_tokens": 64,
                    "texts": 1, "is_code": False},
        "load": {"kind": "concurrency", "levels": [1, 8], "is_ramp": False, "seconds": 30,
                 "warm_up_seconds": 5},
        "limits": {"error_share": 0.01, "first_token_p90_seconds": 1.0,
                   "inter_token_p90_seconds": None, "end_to_end_p90_seconds": None},
        "seed": 0,
    },
    "progress": {"done_seconds": 70.0, "total_seconds": 70.0, "words": ""},
    "results": [
        {
            "label": "qwen3-8b, deployment-3",
            "deployment_id": "q9w4d2ek",
            "made_of": _MADE_OF,
            "stages": [_STAGE],
            "largest_load": "`qwen3-8b, deployment-3` carries 8 requests at a time within p90 "
            "first token ≤ 1 s, errors ≤ 1 %: 904 tokens/s; nothing higher was tried.",
            "planned": [],
        }
    ],
    "failure": None,
    "created_at": CREATED_AT,
    "created_by": ADA["email"],
    "started_at": CREATED_AT,
    "finished_at": SEEN_AT,
    "cancel_requested_at": None,
}  # fmt: skip
COMPARED = {"benchmarks": [BENCHMARK]}
CSV = (
    "benchmark_id,created_at,shape,deployment,load,level,completion_tokens_per_second\n"
    'b4m7wq2n,2026-11-27T10:00:00Z,chat,"qwen3-8b, deployment-3",concurrency,8,904.0\n'
)
