"""What an engine says of itself once ready, as agents tell it and pages compare it with the plan.

A checkpoint has a say in it (its labels), and so has its own code where that was granted.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from controlplane.domain.storable import storable

_NUMBERS = frozenset({"weights_bytes", "kv_cache_bytes", "kv_tokens"})
_TEXTS = frozenset({"version", "dtype"})
_LONGEST_TEXT = 64
_MOST_FIELDS = 32


def engine_report(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of it can be stored and shown: plain values, the known ones of their type."""
    plain = ((name, _plain(value)) for name, value in fields.items() if len(name) <= _LONGEST_TEXT)
    kept = ((storable(name), value) for name, value in plain if _is_taken(name, value))
    return dict(islice(kept, _MOST_FIELDS))


def _plain(value: Any) -> str | float | bool | None:
    if isinstance(value, str):
        return str(storable(value[:_LONGEST_TEXT]))
    return storable(value) if isinstance(value, bool | int | float) else None


def _is_taken(name: str, value: str | float | bool | None) -> bool:
    if name in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return value is not None and (name not in _TEXTS or isinstance(value, str))
