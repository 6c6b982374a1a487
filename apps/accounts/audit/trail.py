import csv
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from apps.accounts.models import AuditEntry
from apps.accounts.permissions import Actor, Role

COLUMNS = (
    "at",
    "actor_kind",
    "actor_label",
    "source",
    "address",
    "action",
    "target_id",
    "target_label",
    "team_name",
    "by_admin_rights",
    "before",
    "after",
)
_PAGE = 500
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def audit_list(actor: Actor, filters: Mapping[str, Any]) -> QuerySet[AuditEntry]:
    """Return the entries of the actor's team, or of everything for an organisation admin.

    `filters` may hold `actor`, `action`, `target`, `team_id`, `admin_rights`, `from` and `to`.
    """
    entries = AuditEntry.objects.order_by("-at", "-id")
    if actor.role != Role.ORGANISATION_ADMIN:
        entries = entries.filter(team_id=actor.team.id)
    for name, value in filters.items():
        if value and name in _CONDITIONS:
            entries = entries.filter(_condition(name, value))
    return entries


def csv_lines(entries: QuerySet[AuditEntry]) -> Iterator[bytes]:
    """Return the entries as CSV, line by line; no cell is a formula."""
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS).encode()
    for entry in _all_of(entries):
        yield writer.writerow([_cell(value) for value in _values(entry).values()]).encode()


def json_lines(entries: QuerySet[AuditEntry]) -> Iterator[bytes]:
    for entry in _all_of(entries):
        yield json.dumps(_values(entry), ensure_ascii=False).encode() + b"\n"


def _all_of(entries: QuerySet[AuditEntry]) -> Iterator[AuditEntry]:
    """Return the entries by pages, each a query of its own: a download may take hours."""
    page = list(entries[:_PAGE])
    while page:
        yield from page
        last = page[-1]
        older = Q(at__lt=last.at) | Q(at=last.at, id__lt=last.id)
        page = list(entries.filter(older)[:_PAGE])


class _Echo:
    """A file that gives back what is written."""

    def write(self, line: str) -> str:
        return line


def _condition(name: str, value: Any) -> Q:
    first, *others = (Q(**{lookup: value}) for lookup in _CONDITIONS[name])
    for other in others:
        first |= other
    return first


_CONDITIONS: Mapping[str, tuple[str, ...]] = {
    "actor": ("actor_label__icontains", "actor_id"),
    "action": ("action__startswith",),
    "target": ("target_label__icontains", "target_id"),
    "team_id": ("team_id",),
    "admin_rights": ("by_admin_rights",),
    "from": ("at__gte",),
    "to": ("at__lt",),
}


def _values(entry: AuditEntry) -> dict[str, Any]:
    values = {name: getattr(entry, name) for name in COLUMNS}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in values.items()
    }


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    text = "" if value is None else str(value)
    # A spreadsheet would run a label that someone chose.
    return f"'{text}" if text.startswith(_FORMULA) else text
