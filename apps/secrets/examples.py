"""What secrets and their tests look like; a value stands in a request only."""

from apps.accounts.examples import ADA, CREATED_AT, SEEN_AT, TEAM_NAME

ENDS_AT = "2099-03-01T00:00:00Z"
SECRET_WANTED = {
    # A curl command shows it, and whoever pastes one must not lose a secret that is in use.
    "name": "example_token",
    "value": "replace-me",
    "expires_at": ENDS_AT,
}
SECRET = {
    "id": "v5mrvzjc",
    "created_at": CREATED_AT,
    "name": "hf_access_token",
    "team_name": TEAM_NAME,
    "updated_at": CREATED_AT,
    "updated_by": ADA["email"],
    "last_used_at": SEEN_AT,
    "expires_at": ENDS_AT,
    "is_readable": True,
    "used_by": [
        {
            "kind": "config",
            "id": "uqtjssnb",
            "name": "llama-3.3-70b",
            "url": "/configs/uqtjssnb/",
        }
    ],
}
SECRET_EXPIRY = {"expires_at": ENDS_AT}
SECRET_TOMBSTONE = {"name": "hf_access_token"}
TEST_WANTED = {"target": "meta-llama/Llama-3.2-1B-Instruct"}
TEST = TEST_WANTED | {
    "id": "t2g8rq5n",
    "kind": "hub",
    "state": "finished",
    "works": True,
    "sentence": "`hf_access_token` can read `meta-llama/Llama-3.2-1B-Instruct`.",
    "hint": "",
    "created_at": SEEN_AT,
    "finished_at": "2026-11-27T16:40:02.904118Z",
}
