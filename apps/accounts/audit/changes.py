from dataclasses import dataclass
from typing import Any

from apps.accounts.models import AuditEntry


@dataclass(frozen=True, kw_only=True)
class Change:
    name: str
    before: str
    after: str


def changes_of(entry: AuditEntry) -> list[Change]:
    before, after = entry.before or {}, entry.after or {}
    return [
        Change(name=name, before=_words(before.get(name)), after=_words(after.get(name)))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items()) or "–"
    return "–" if value is None else str(value)
