from typing import Any

WANTED: dict[str, Any] = {"share": 0.01, "kept_days": 7}
CONSENT: dict[str, Any] = {
    **WANTED,
    "consented_at": "2026-11-30T08:12:28.378632Z",
    "consented_by": "ada@example.com",
    "models": [
        {
            "model_id": "m5w2xk9c",
            "name": "editor",
            "dataset": "traffic/m5w2xk9c",
            "samples": 1204,
            "size_bytes": 3_204_118,
            "oldest_at": "2026-11-30T08:13:02.001254Z",
            "told_at": "2026-12-03T10:02:41.114032Z",
        }
    ],
}
