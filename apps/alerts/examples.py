from apps.accounts.examples import ADA, CREATED_AT, SEEN_AT

ALERT = {
    "id": "a7k2mzqp",
    "kind": "deployment_short",
    "severity": "warning",
    "state": "firing",
    "sentence": "`qwen3-8b`, `deployment-3` is short of replicas: 1 of 2 replicas ready. "
    "The engine ran out of GPU memory while it started.",
    "hint": "Use a GPU with more memory, or a shorter `max_seq_len`.",
    "url": "/models/2jt7a4ax/q9w4d2ek/",
    "of_installation": False,
    "began_at": CREATED_AT,
    "fired_at": CREATED_AT,
    "resolved_at": None,
}
CHANNEL_WANTED = {
    "name": "on call",
    "form": "webhook",
    "target": "https://alerts.example.com/enginehouse",
    "secret_name": "alert_signing_key",
    "kinds": ["deployment_down", "deployment_short"],
    "hears_installation": True,
    "is_paused": False,
}
CHANNEL = CHANNEL_WANTED | {
    "id": "c3v8n2ta",
    "created_at": CREATED_AT,
    "created_by": ADA["email"],
}
CHANNEL_CHANGED = {"is_paused": True}
DELIVERY = {
    "id": "d5h7wq2m",
    "event": "firing",
    "state": "finished",
    "attempts": 1,
    "alert_ids": [ALERT["id"]],
    "sentence": "",
    "hint": "",
    "created_at": SEEN_AT,
    "next_attempt_at": None,
    "finished_at": "2026-11-27T16:40:02.904118Z",
}
LIMITS = {"error_share_percent": 5.0, "first_token_seconds": 2.5, "monthly_budget": "2000.00"}
