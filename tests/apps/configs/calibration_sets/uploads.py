"""What tests upload."""

import io
import json
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import Team, User
from apps.configs.calibration_sets.models import CalibrationVersion
from apps.configs.calibration_sets.services.sets import set_upload
from tests.factories import make_api_key

TEXT = "The capital of France is Paris, and number {} of these lines says so once more."


def jsonl(count: int = 12, *, first: int = 0) -> bytes:
    rows = ({"text": TEXT.format(number)} for number in range(first, first + count))
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def chats(count: int = 12) -> bytes:
    turns = ({"role": "user", "content": TEXT.format(number)} for number in range(count))
    return b"".join(json.dumps({"messages": [turn]}).encode() + b"\n" for turn in turns)


def stored(
    team: Team, name: str = "support-chats", content: bytes | None = None
) -> CalibrationVersion:
    """Upload as the service does."""
    file = io.BytesIO(jsonl() if content is None else content)
    return set_upload(team=team, name=name, file=file, file_name="rows.jsonl").version


def posted(user: User | None, name: str, content: bytes, file_name: str = "a.jsonl") -> Any:
    """Upload over REST; gives back (status, body)."""
    headers = {}
    if user is not None:
        headers = {"authorization": f"Bearer {make_api_key(user=user, type='PERSONAL')}"}
    file = SimpleUploadedFile(file_name, content)
    answer = Client().post("/v1/calibration_sets", {"name": name, "file": file}, headers=headers)
    return answer.status_code, answer.json()
