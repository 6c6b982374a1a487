"""One span, as plain values: whoever serves makes no object of a library for it."""

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_SAMPLED = 1


class SpanKind(StrEnum):
    SERVER = "SERVER"
    CLIENT = "CLIENT"
    INTERNAL = "INTERNAL"


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Times are seconds since the epoch, ids hexadecimal."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    kind: SpanKind
    began_at: float
    ended_at: float
    attributes: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    events: Mapping[str, float] = field(default_factory=dict)
    """Name -> when."""
    error: str = ""
    """Why it failed; empty where it did not."""


@dataclass(frozen=True, slots=True)
class Parent:
    trace_id: str
    span_id: str
    is_sampled: bool


def parent_in(traceparent: str) -> Parent | None:
    """Return what the header says, or None where it is not in the form that W3C gives it."""
    match = _PARENT.fullmatch(traceparent)
    if match is None or not int(match[1], 16) or not int(match[2], 16):
        return None
    return Parent(match[1], match[2], bool(int(match[3], 16) & _SAMPLED))


def traceparent_of(trace_id: str, span_id: str) -> str:
    return f"00-{trace_id}-{span_id}-01"


def new_trace_id() -> str:
    return secrets.token_hex(16)


def new_span_id() -> str:
    return secrets.token_hex(8)


def trace_id_of(what: str) -> str:
    """Return the same trace for the same thing, whichever process tells of it."""
    return hashlib.blake2b(what.encode(), digest_size=16).hexdigest()


def span_id_of(what: str) -> str:
    return hashlib.blake2b(what.encode(), digest_size=8).hexdigest()
