"""What the next page says of a form that was refused: where it was sent, and what was wrong in it.

`static/js/refusals.js` puts back what was typed, and the words beside the field.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest

_MARK = "refused "


def say_refused(request: HttpRequest, words: str, *, fields: Iterable[str]) -> None:
    names = [each.rpartition(".")[2] for each in fields]
    content = json.dumps({"path": request.path, "fields": names})
    messages.error(request, words, extra_tags=f"{_MARK}{content}")


def refusal_of(message: Message) -> Mapping[str, Any] | None:
    """Return which form and fields the message is about; None where it is about none."""
    tags = message.extra_tags or ""
    if not tags.startswith(_MARK):
        return None
    content: Mapping[str, Any] = json.loads(tags.removeprefix(_MARK))
    return content
