"""What a page says of a change that can truly be undone: with the button that does it."""

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest


def say_undoable(
    request: HttpRequest, words: str, *, path: str, fields: Mapping[str, str] | None = None
) -> None:
    """Say on the next page what was done; its Undo posts the fields to the path."""
    undo = json.dumps({"path": path, "fields": dict(fields or {})})
    messages.success(request, words, extra_tags=undo)


def undo_of(message: Message) -> Mapping[str, Any] | None:
    """Return where and what the message's Undo posts; None where there is none."""
    tags = message.extra_tags or ""
    content: Mapping[str, Any] | None = json.loads(tags) if tags.startswith("{") else None
    return content
