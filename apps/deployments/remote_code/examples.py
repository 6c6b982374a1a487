from apps.accounts.examples import ADA

GRANT_WANTED = {
    "source": "HF",
    "repo": "acme/own-llm",
    "commit": "5f3a9c" * 6 + "beef",
    "reason": "Read by the platform team: a rotary variant, no I/O.",
}
REVOKE = {"reason": "A newer commit was reviewed."}
GRANT = GRANT_WANTED | {
    "id": "4h2kq7vd",
    "is_live": True,
    "granted_by": ADA["email"],
    "created_at": "2026-11-25T08:12:28.378632Z",
    "revoked_by": None,
    "revoked_at": None,
    "revoke_reason": None,
    "running": [
        {
            "deployment_id": "d5x8mk2p",
            "deployment": "deployment-2",
            "model": "own-llm",
            "team": "Search",
        }
    ],
}
