"""The key that a person's page calls one model with: short-lived, narrow, and never seen.

Its text is made anew from the server's own secret key each time it is needed: no browser, no row
and no log holds it, and without the web process nobody can use it.
"""

import base64
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from apps.accounts.audit.recording import audit
from apps.accounts.hashing import sha256_hex
from apps.accounts.keys.services import key_facts, key_label
from apps.accounts.models import ApiKey, ApiKeyType, Team, User
from apps.accounts.routes_version import routes_version_bump
from apps.rest.identifiers import new_id
from controlplane import clock

NAME = "try-it"
LASTS = timedelta(hours=1)
_RENEWED_BEFORE = timedelta(minutes=5)
_REQUESTS_PER_MINUTE = 60
_PARALLEL_REQUESTS = 8


def page_key_text(*, user: User, team: Team, model_id: str) -> str:
    """Return the text of the person's key to that model of the team, good for some minutes."""
    key = _keys_of(user).filter(team=team, model_ids=[model_id]).first()
    if key is None or not _is_good(key):
        key = _renewed(user, team, model_id)
    return _text(key)


def page_keys_end(*, user: User) -> None:
    for key in _keys_of(user).filter(expires_at__gt=clock.now()):
        ApiKey.objects.filter(id=key.id).update(expires_at=clock.now())
        audit("key.end", key, team=key.team, label=key_label(key), actor=user)
        routes_version_bump(keys=[key.secret_sha256])


def _keys_of(user: User) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(
        owner=user, type=ApiKeyType.WORKSPACE_INVOKE, revoked_at=None
    ).select_related("team", "owner")


def _is_good(key: ApiKey) -> bool:
    is_lasting = key.expires_at is not None and key.expires_at > clock.now() + _RENEWED_BEFORE
    # Another secret key of the server's makes other texts.
    return is_lasting and key.secret_sha256 == sha256_hex(_text(key))


@transaction.atomic
def _renewed(user: User, team: Team, model_id: str) -> ApiKey:
    # Locked, so that two pages of one person make one key.
    owner = User.objects.select_for_update().get(id=user.id)
    api_key = _keys_of(owner).filter(team=team, model_ids=[model_id]).first()
    if api_key is not None and _is_good(api_key):
        return api_key
    key = api_key or _blank(owner, team, model_id)
    before = key.secret_sha256
    key.expires_at = clock.now() + LASTS
    key.secret_sha256 = sha256_hex(_text(key))
    key.save()
    audit(
        "key.renew" if api_key else "key.create",
        key,
        team=team,
        label=key_label(key),
        after=key_facts(key),
    )
    routes_version_bump(keys=[before, key.secret_sha256])
    return key


def _blank(owner: User, team: Team, model_id: str) -> ApiKey:
    return ApiKey(
        prefix=new_id(),
        name=NAME,
        type=ApiKeyType.WORKSPACE_INVOKE,
        team=team,
        owner=owner,
        model_ids=[model_id],
        requests_per_minute=_REQUESTS_PER_MINUTE,
        parallel_requests=_PARALLEL_REQUESTS,
    )


def _text(key: ApiKey) -> str:
    assert key.expires_at is not None
    # The end is part of it: each renewal makes another key.
    about = f"{key.prefix}:{key.expires_at.timestamp():.6f}"
    mac = salted_hmac("enginehouse.page_key", about, algorithm="sha256").digest()
    return f"{key.prefix}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
