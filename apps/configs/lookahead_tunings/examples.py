from typing import Any

_OFF: dict[str, Any] = {"manner": "off", "longest_draft_tokens": 0, "draft_factor": 1}
_BEST: dict[str, Any] = {"manner": "filled", "longest_draft_tokens": 63, "draft_factor": 1}
WANTED = {"config_id": "74hnd2b8", "dataset": "team/edits", "requests": 1}
TUNING: dict[str, Any] = {
    "id": "t5w2xk9c",
    "config_id": "74hnd2b8",
    "revision": 1,
    "dataset": "team/edits",
    "requests": 1,
    "state": "finished",
    "progress": {"done": 1000, "total": 1000, "unit": "answers"},
    "result": {
        "commit": "12fd25f77366fa6b3b4b768ec3050bf629380bac",
        "conversations": 1000,
        "answers": 1000,
        "prompt_tokens": 2_911_020,
        "answer_tokens": 2_240_113,
        "runtime": "vLLM",
        "device": "H200",
        "basis": "For one request by steps measured on one H200.",
        "now": _OFF,
        "recommended": {
            "setting": _BEST,
            "words": "drafts of 63 tokens",
            "sentence": "Serve with drafts of 63 tokens: 38.2 tokens a step.",
            "changes": True,
        },
        "settings": [
            {
                "setting": _BEST,
                "words": "drafts of 63 tokens",
                "tokens_per_step": 38.2,
                "drafted_share": 0.97,
                "tokens_per_draft": 63.0,
                "acceptance_by_position": [{"position": 1, "share": 0.96}],
                "by_batch": [{"requests": 1, "ratio": 21.4, "tokens_per_second": 5692.0}],
                "helps_up_to": 8,
            }
        ],
    },
    "failure": None,
    "made_revision": None,
    "created_at": "2026-11-25T08:12:28.378632Z",
    "finished_at": "2026-11-25T08:13:33.027411Z",
}
APPLIED = {"config_id": "74hnd2b8", "revision": 2}
