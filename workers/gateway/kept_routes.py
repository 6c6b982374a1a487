"""Kept routes: a whole and changes of it, made one whole again."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from controlplane.domain.json_text import read_json
from controlplane.domain.wire.routes import KINDS


def following(payloads: Sequence[bytes]) -> Iterable[bytes]:
    """Return the whole, and of the changes those that can be read: others were cut short."""
    for place, payload in enumerate(payloads):
        if place == 0 or _read(payload) is not None:
            yield payload


def merged(payloads: Sequence[bytes]) -> bytes:
    whole: dict[str, Any] = read_json(payloads[0])
    for payload in payloads[1:]:
        change = _read(payload)
        if change is not None and change.get("after") == whole["version"]:
            _merge(whole, change)
    return json.dumps(whole).encode()


def _merge(whole: dict[str, Any], change: dict[str, Any]) -> None:
    whole["route_tables"] |= change["route_tables"]
    for kind in KINDS:
        for id, row in change[kind].items():
            if row is None:
                whole[kind].pop(id, None)
            else:
                whole[kind][id] = row
    whole["version"], whole["digest"] = change["version"], change["digest"]


def _read(payload: bytes) -> dict[str, Any] | None:
    try:
        content = read_json(payload)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
