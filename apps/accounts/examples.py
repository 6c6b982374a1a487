from typing import Any

CREATED_AT = "2026-11-02T09:14:31.482915Z"
SEEN_AT = "2026-11-27T16:40:02.117340Z"
TEAM_ID, TEAM_NAME = "k7m2p9qx", "research"
ADA = {"user_id": "u4x8hq2m", "email": "ada@example.com", "name": "Ada Lovelace"}
GRACE = {"user_id": "w9p3tz6k", "email": "grace@example.com", "name": "Grace Hopper"}

TEAM = {"id": TEAM_ID, "name": TEAM_NAME, "default": True, "created_at": CREATED_AT}
TEAM_NAMED = {"name": TEAM_NAME}
USER = ADA | {"workspace_name": TEAM_NAME}
MEMBER = GRACE | {"role": "member", "is_active": True}
MEMBER_ROLE = {"role": "admin"}
PERSON = ADA | {
    "is_admin": True,
    "is_active": True,
    "last_sign_in_at": SEEN_AT,
    "teams": [{"team_id": TEAM_ID, "team_name": TEAM_NAME, "role": "admin"}],
}
PERSON_CHANGE = {"is_admin": True}
INVITED = {"email": "alan@example.com", "role": "member"}
INVITATION = INVITED | {
    "id": "n3e3fqu8",
    "created_at": "2026-11-27T10:00:00.501207Z",
    "expires_at": "2026-12-04T10:00:00.500911Z",
}
MADE_INVITATION = {
    "invitation": INVITATION,
    "url": "https://engines.example.com/join/n3e3fqu8.Jq5yV0dYbB0n1rWm8sZ4pQ2uKx7tHc3e",
}
RESTRICTION_PEOPLE = {"user_ids": [ADA["user_id"]]}
RESTRICTION_WANTED = RESTRICTION_PEOPLE | {"name": "production"}
RESTRICTION = {
    "name": "production",
    "people": [{"user_id": ADA["user_id"], "email": ADA["email"]}],
    "created_at": CREATED_AT,
}
KEY_WANTED: dict[str, Any] = {
    "name": "support-bot",
    "type": "WORKSPACE_INVOKE",
    "model_ids": ["h5ymnrdv"],
    "environments": ["production"],
    "expires_at": "2099-06-01T00:00:00Z",
    "requests_per_minute": 600,
    "tokens_per_minute": 200_000,
    "parallel_requests": 16,
    "monthly_spend": "250.00",
}
KEY = KEY_WANTED | {
    "prefix": "kq5hrgax",
    "team_name": TEAM_NAME,
    "owner": None,
    "created_at": CREATED_AT,
    "last_used_at": SEEN_AT,
    "spent_until": None,
}
MADE_KEY = {"api_key": "kq5hrgax.Sy7qU-J4PgpAA4sg-EPvLJpk1kj1_ppGDFG8eQV-xes"}
KEY_TOMBSTONE = {"prefix": "kq5hrgax"}
AUDIT_ENTRY: dict[str, Any] = {
    "id": 4711,
    "at": SEEN_AT,
    "actor_kind": "key",
    "actor_id": "f4cprdpc",
    "actor_label": "m8w2kd7z of ada@example.com",
    "source": "rest",
    "address": "203.0.113.7",
    "action": "deployment.autoscale",
    "target_kind": "deployment",
    "target_id": "fabn58v3",
    "target_label": "smollm2/deployment-1",
    "team_id": TEAM_ID,
    "team_name": TEAM_NAME,
    "by_admin_rights": False,
    "before": {"max_replica": 1},
    "after": {"max_replica": 3},
}
AUDIT_CSV = (
    "at,actor_kind,actor_label,source,address,action,target_id,target_label,team_name,"
    "by_admin_rights,before,after\r\n"
    "2026-11-27T16:40:02.117340+00:00,person,ada@example.com,page,203.0.113.7,secret.replace,"
    'v5mrvzjc,hf_access_token,research,False,,"{""expires_at"": null}"\r\n'
)
AUDIT_LINES = (
    '{"at": "2026-11-27T16:40:02.117340+00:00", "actor_kind": "person", "actor_label": '
    '"ada@example.com", "source": "page", "address": "203.0.113.7", "action": "secret.replace", '
    '"target_id": "v5mrvzjc", "target_label": "hf_access_token", "team_name": "research", '
    '"by_admin_rights": false, "before": null, "after": {"expires_at": null}}\n'
)
