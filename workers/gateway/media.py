"""Images, sounds and files that a request names by their place: nothing of ours fetches them.

An engine that did would ask in the operator's network, or read its own disk, for whoever has a key.
"""

import json
from collections.abc import Iterator, Mapping

from workers.gateway.refusals import Refused, malformed

_CONVERSATIONS = frozenset({
    "messages", "input", "documents", "queries", "query", "data_1", "data_2", "text_1", "text_2",
})  # fmt: skip
"""Fields of a body in which engines look for parts that are no text."""
_PLACES = frozenset({
    "audio", "audio_url", "file", "file_url", "image", "image_url", "path", "uri", "url", "video",
    "video_url",
})  # fmt: skip
_HOLDERS = frozenset({"content", "output", "source"})
"""Of a part: what may hold further parts. Arguments of tools are not among them."""
_ALL = _PLACES | _HOLDERS
_BESIDE_WORDS = frozenset({"file", "path", "uri", "url"})
"""Where a document of words may be from."""
_WITHIN = "data:"
_LONGEST_SHOWN = 60

MAY_HOLD_MEDIA = tuple(f'"{name}'.encode() for name in sorted(_PLACES))
"""How the fields that name a place stand in a JSON body, where nothing is escaped."""


def require_media_within(data: Mapping[str, object]) -> None:
    """Return if a body brings all its media as `data:` URLs. Raises Refused."""
    for field, value in data.items():
        if field in _CONVERSATIONS and isinstance(value, list | dict) and not _is_words(value):
            names = _ALL - _BESIDE_WORDS if field == "documents" else _ALL
            for place, content in _named(value, field, names):
                if content[: len(_WITHIN)].lower() != _WITHIN:
                    raise _refused(place, content)


def _is_words(content: object) -> bool:
    """Whether it is a conversation of roles and texts alone, as most are: there is no more in it.

    Of each message of each request: a call more is a good part of the cost.
    """
    if type(content) is not list:
        return False
    for each in content:
        if type(each) is not dict or len(each) != 2 or type(each.get("content")) is not str:
            return False
        if type(each.get("role")) is not str:
            return False
    return True


def _named(value: object, place: str, names: frozenset[str] = _ALL) -> Iterator[tuple[str, str]]:
    """Yield each text that names media by its place, with where it stands.

    `names` are those that count at the top.
    """
    if isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, list | dict):
                yield from _named(each, f"{place}[{index}]", names)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in names:
                continue
            if not isinstance(each, str):
                yield from _named(each, f"{place}.{name}")
            elif name in _PLACES:
                yield f"{place}.{name}", each


def _refused(place: str, reason: str) -> Refused:
    shown = json.dumps(reason[:_LONGEST_SHOWN])
    return Refused(
        malformed(
            f"`{place}` is `{shown}`: engines here fetch nothing that a request names. Send the "
            "bytes themselves, as a `data:` URL."
        )
    )
