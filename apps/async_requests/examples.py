from apps.accounts.examples import CREATED_AT, SEEN_AT

LISTED = {
    "request_id": "5f0c1b7a9d3e2f4455667000000000001f",
    "model_id": "m3k8v2qp",
    "deployment_id": "q9w4d2ek",
    "status": "SUCCEEDED",
    "webhook_status": "SUCCEEDED",
    "created_at": CREATED_AT,
    "status_at": SEEN_AT,
    "errors": [],
    "environment": "production",
    "priority": 0,
    "attempts": 1,
    "max_attempts": 3,
    "webhook_endpoint": "https://hooks.example.com/answers",
    "webhook_error": "",
    "api_key_prefix": "k2m9x4qd",
    "expires_at": SEEN_AT,
    "next_attempt_at": None,
    "started_at": CREATED_AT,
    "finished_at": SEEN_AT,
}
REQUEST = LISTED | {"output": {"choices": [{"message": {"content": "Hello."}}]}}
CANCELED = {
    "request_id": LISTED["request_id"],
    "canceled": True,
    "message": "The request is canceled.",
}
