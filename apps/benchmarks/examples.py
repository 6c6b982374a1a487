"""What benchmarks look like."""

from apps.accounts.examples import ADA, CREATED_AT, SEEN_AT

WANTED = {
    "deployment_ids": ["q9w4d2ek"],
    "shape": "chat",
    "load": {"kind": "concurrency", "levels": [1, 8, 64], "seconds": 30, "warm_up_seconds": 5},
    "limits": {"error_share": 0.01, "first_token_p90_seconds": 1.0},
    "name": "before the release",
}
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
            "made_of": {"revision": "qwen3-8b@4", "runtime": "vllm", "engine_version": "0.25.1"},
            "stages": [{"load": "concurrency", "level": 1, "completion_tokens_per_second": 131.2}],
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
