"""Keys: made, shown once, used, revoked; gateways hold copies, so changes bump their version."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from apps.accounts.audit.recording import audit, audit_beside
from apps.accounts.hashing import new_secret, sha256_hex
from apps.accounts.models import ApiKey, ApiKeyType, Team, User
from apps.accounts.routes_version import routes_version_bump
from apps.accounts.teams.team_models import unknown_environments, unknown_models
from apps.rest.errors import InvalidInput, NotFound
from apps.rest.identifiers import new_id
from controlplane import clock
from controlplane.compiled_update import rows_update

LIMITED_TO_MODELS = frozenset({ApiKeyType.WORKSPACE_INVOKE, ApiKeyType.WORKSPACE_EXPORT_METRICS})
_TOUCH_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class KeyLimits:
    """How far a key goes; None limits nothing. Gateways hold keys to it, each for itself."""

    expires_at: datetime | None = None
    environments: Sequence[str] | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    parallel_requests: int | None = None
    monthly_spend: Decimal | None = None

    def columns(self) -> dict[str, Any]:
        environments = None if self.environments is None else list(self.environments)
        return vars(self) | {"environments": environments}


NO_LIMITS = KeyLimits()
LIMITS = tuple(vars(NO_LIMITS))


@dataclass(frozen=True, kw_only=True)
class MadeApiKey:
    """A stored key with its whole text, which exists nowhere else."""

    api_key: ApiKey
    text: str


def api_key_create(
    *,
    team: Team,
    type: ApiKeyType,
    owner: User | None = None,
    name: str = "",
    model_ids: Sequence[str] | None = None,
    limits: KeyLimits = NO_LIMITS,
    traffic_mark: str = "",
    text: str = "",
) -> MadeApiKey:
    """Return a new key of 256 random bits. Raises InvalidInput.

    `text` is the whole key where its maker can make it again, and so need not keep it.
    """
    _check_reach(type, model_ids, limits)
    _check_models(team, model_ids or ())
    _check_environments(team, limits.environments or (), model_ids)
    if (type == ApiKeyType.PERSONAL) != (owner is not None):
        raise InvalidInput("A personal key has an owner, and no other key has.", fields=["type"])
    text = text or f"{new_id()}.{new_secret()}"
    prefix = text.partition(".")[0]
    with transaction.atomic():
        key = ApiKey.objects.create(
            prefix=prefix,
            secret_sha256=sha256_hex(text),
            name=name,
            type=type,
            team=team,
            owner=owner,
            model_ids=list(model_ids) if model_ids is not None else None,
            traffic_mark=traffic_mark,
            **limits.columns(),
        )
        audit("key.create", key, team=team, label=key_label(key), after=key_facts(key))
        routes_version_bump(keys=[key.secret_sha256])
    return MadeApiKey(api_key=key, text=text)


def api_key_revoke(*, api_key: ApiKey) -> None:
    """End the key; gateways learn it within a second. Raises NotFound if it has ended already."""
    with transaction.atomic():
        revoked = {"revoked_at": clock.now()}
        if not rows_update(ApiKey, revoked, id=api_key.id, revoked_at=None):
            raise NotFound(f"There is no API key `{api_key.prefix}`.")
        entry = audit_beside("key.revoke", api_key, team=api_key.team, label=key_label(api_key))
        routes_version_bump(keys=[api_key.secret_sha256], beside=[entry])


def api_keys_revoke_of(rows: QuerySet[Any], *, traffic_mark: str) -> None:
    named = rows.filter(api_key__revoked_at=None, api_key__traffic_mark=traffic_mark)
    ids = list(named.exclude(api_key=None).values_list("api_key", flat=True))
    for key in ApiKey.objects.filter(id__in=ids).select_related("team"):
        api_key_revoke(api_key=key)


def key_label(key: ApiKey) -> str:
    return f"{key.prefix} {key.name}".strip()


def key_facts(key: ApiKey) -> dict[str, Any]:
    return {
        "type": key.type,
        "owner": key.owner.email if key.owner else None,
        "model_ids": key.model_ids,
        "environments": key.environments,
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
        "requests_per_minute": key.requests_per_minute,
        "tokens_per_minute": key.tokens_per_minute,
        "parallel_requests": key.parallel_requests,
        "monthly_spend": None if key.monthly_spend is None else f"{key.monthly_spend:.2f}",
    }


def api_key_touch(key: ApiKey) -> None:
    """Note that the key was used, at most once a minute."""
    now = clock.now()
    if key.last_used_at is not None and key.last_used_at > now - _TOUCH_EVERY:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - _TOUCH_EVERY)
    ApiKey.objects.filter(stale, id=key.id).update(last_used_at=now)


def _check_reach(type: ApiKeyType, model_ids: Sequence[str] | None, limits: KeyLimits) -> None:
    # A key that manages the team could lift such a limit itself.
    for name, value, what in (
        ("model_ids", model_ids, "models"),
        ("environments", limits.environments, "environments"),
    ):
        if value is not None and type not in LIMITED_TO_MODELS:
            raise InvalidInput(
                f"`{name}`: a key of type `{type}` cannot be limited to {what}.",
                fields=[name],
                hint="Leave it out, or choose `WORKSPACE_INVOKE` or `WORKSPACE_EXPORT_METRICS`.",
            )
    if limits.expires_at is not None and limits.expires_at <= clock.now():
        raise InvalidInput(
            f"{limits.expires_at:%Y-%m-%d %H:%M} UTC is over.",
            fields=["expires_at"],
            hint="Give a moment that is to come, or none.",
        )


def _check_models(team: Team, model_ids: Sequence[str]) -> None:
    # A mistyped id would make a key that calls nothing, which is noticed far from here.
    if unknown := unknown_models(team, model_ids):
        raise InvalidInput(
            f"The team `{team.name}` has no model {', '.join(f'`{id}`' for id in unknown)}.",
            fields=["model_ids"],
            hint="Give ids as the models' pages and `GET /v1/models` show them.",
        )


def _check_environments(team: Team, names: Sequence[str], model_ids: Sequence[str] | None) -> None:
    if unknown := unknown_environments(team, names, model_ids):
        whose = f"The team `{team.name}` has" if model_ids is None else "These models have"
        raise InvalidInput(
            f"{whose} no environment {', '.join(f'`{name}`' for name in unknown)}.",
            fields=["environments"],
            hint="Give names as the models' pages show them; make an environment before its keys.",
        )
