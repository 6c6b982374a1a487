from typing import Any

from apps.accounts.examples import ADA

UPLOADED_AT = "2026-11-25T08:12:28.378632Z"
SET: dict[str, Any] = {
    "id": "43g346vg",
    "name": "support-chats",
    "dataset": "team/support-chats",
    "created_at": UPLOADED_AT,
    "updated_at": UPLOADED_AT,
    "versions": [
        {
            "version": 1,
            "digest": "sha256:" + "5f3a9c" * 10 + "beef",
            "uploaded_name": "support-chats.jsonl",
            "column": "messages",
            "rows": 1200,
            "empty_rows": 3,
            "short_rows": 12,
            "size_bytes": 412_000,
            "created_at": UPLOADED_AT,
            "created_by": ADA["email"],
        }
    ],
}
UPLOAD = {
    "name": "support-chats",
    "file": '{"text": "Where is my parcel?"}\n{"text": "It has left the depot."}\n',
}
HEAD = {
    "version": 1,
    "column": "messages",
    "rows": ["user: Where is my parcel?\nassistant: It has left the depot."],
}
TOMBSTONE = {"id": SET["id"], "name": SET["name"], "deleted": True}
PREVIEW_WANTED = {"config_id": "74hnd2b8", "dataset": SET["dataset"]}
PREVIEW: dict[str, Any] = {
    "id": "p6z3kq8w",
    "config_id": "74hnd2b8",
    "revision": 1,
    "dataset": SET["dataset"],
    "state": "finished",
    "result": {
        "dataset": {"name": SET["dataset"], "version": 1},
        "column": "messages",
        "samples": [
            {
                "row": 0,
                "tokens": 41,
                "truncated": False,
                "text": "<|im_start|>user\nWhere is my parcel?<|im_end|>",
                "is_cut": False,
            }
        ],
        "size": 1024,
        "max_length": 1536,
        "seed": 0,
        "shortest_tokens": 19,
        "rows_read": 1200,
        "skipped_empty": 3,
        "skipped_short": 12,
        "skipped_duplicate": 0,
        "truncated": 7,
        "commit": "12fd25f77366fa6b3b4b768ec3050bf629380bac",
    },
    "failure": None,
    "created_at": UPLOADED_AT,
    "finished_at": "2026-11-25T08:12:33.027411Z",
}
