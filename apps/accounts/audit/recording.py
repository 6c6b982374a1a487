"""The audit trail's one way in: every service that changes something calls `audit` as it does.

An entry is written in the transaction of its change, so neither exists without the other.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django.db.models import Model
from django.http import HttpRequest

from apps.accounts.models import ApiKey, ApiKeyType, AuditEntry, Membership, Team, User
from controlplane.compiled_update import Write, insert_of, row_insert

Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where changes come from just now: a request, or a command of that name."""

    request: HttpRequest | None = None
    command: str = ""


_SOURCES = {"v1": "rest", "internal": "worker"}
"""By the first part of a request's path; the rest are pages."""
_origin: ContextVar[Origin | None] = ContextVar("audit_origin", default=None)


@contextmanager
def acting(origin: Origin) -> Iterator[None]:
    """Attribute what is changed within to this origin."""
    before = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(before)


def audit(
    action: str,
    target: Model | str,
    *,
    team: Team | None,
    label: str | None = None,
    before: Values | None = None,
    after: Values | None = None,
    actor: User | None = None,
) -> AuditEntry:
    """Return the entry that tells of a change; `before` and `after` never hold a secret value.

    The actor is who sent the request, unless `actor` names who came in just now.
    """
    entry = _entry(action, target, team, label, before, after, actor)
    row_insert(entry)
    return entry


def audit_beside(
    action: str,
    target: Model,
    *,
    team: Team | None,
    label: str,
    before: Values | None = None,
    after: Values | None = None,
) -> Write:
    """Return what `audit` writes, for a statement of the change to write along with it."""
    return insert_of(_entry(action, target, team, label, before, after, actor=None))


def _entry(
    action: str,
    target: Model | str,
    team: Team | None,
    label: str | None,
    before: Values | None,
    after: Values | None,
    actor: User | None,
) -> AuditEntry:
    who = _whoever(actor)
    return AuditEntry(
        **who,
        **_whence(),
        action=action,
        target_id="" if isinstance(target, str) else str(target.pk)[:64],
        target_label=(str(target) if label is None else label)[:300],
        team_id=team.id if team else "",
        team_name=team.name if team else "",
        by_admin_rights=not action.startswith("account.") and _by_admin_rights(who, team),
        before=before,
        after=after,
    )


def audit_foreign_read(user: User | None, team: Team) -> None:
    """Record that an organisation admin looks into a team without belonging to it.

    Changes there have entries of their own.
    """
    if user is not None and not Membership.objects.filter(user=user, team=team).exists():
        audit("team.read", team, team=team)


def nobody_tried(action: str, *, label: str, after: Values | None = None) -> None:
    """Record an attempt of someone who did not get in."""
    AuditEntry.objects.create(
        actor_kind="nobody",
        actor_label="nobody",
        **_whence(),
        action=action,
        target_label=label[:300],
        after=after,
    )


def _whence() -> dict[str, str]:
    origin = _origin.get()
    if origin is None:
        return {"source": "worker"}
    if origin.request is None:
        return {"source": "command"}
    address = str(origin.request.META.get("REMOTE_ADDR", ""))
    first = origin.request.path.split("/")[1]
    return {"source": _SOURCES.get(first, "page"), "address": address[:64]}


def _whoever(actor: User | None) -> dict[str, str]:
    origin = _origin.get()
    request = origin.request if origin else None
    # The REST framework puts its actor, with the key, where pages have their person.
    caller: Any = actor or getattr(request, "user", None)
    key = getattr(caller, "api_key", None)
    if isinstance(key, ApiKey):
        return {"actor_kind": "key", "actor_id": key.id, "actor_label": _key_label(key)}
    person = getattr(caller, "user", caller)
    if isinstance(person, User):
        return {"actor_kind": "person", "actor_id": person.id, "actor_label": person.email}
    command = origin.command if origin else ""
    label = f"manage.py {command}" if command else "system"
    return {"actor_kind": "system", "actor_id": "", "actor_label": label}


def _key_label(key: ApiKey) -> str:
    return f"{key.prefix} of {key.owner.email}" if key.owner else key.prefix


def _by_admin_rights(who: Mapping[str, str], team: Team | None) -> bool:
    if who["actor_kind"] == "system":
        return False
    admins = User.objects.filter(is_admin=True)
    if who["actor_kind"] == "person":
        admin = admins.filter(id=who["actor_id"]).first()
    else:
        admin = admins.filter(
            api_keys__id=who["actor_id"], api_keys__type=ApiKeyType.PERSONAL
        ).first()
    if admin is None:
        return False
    return team is None or not Membership.objects.filter(user=admin, team=team).exists()
