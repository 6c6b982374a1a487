"""The key by which a team's queue asks gateways, only ever on behalf of a key that asked.

Its text is made anew whenever it is needed, from the installation's own secret: it lies nowhere.
"""

import hashlib
import hmac

from django.conf import settings
from django.db import models, transaction

from apps.accounts.hashing import sha256_hex
from apps.accounts.keys.services import api_key_create, api_key_revoke
from apps.accounts.models import ApiKey, ApiKeyType, Team
from apps.rest.identifiers import new_id
from controlplane.domain.wire.traffic_mark import ASYNC

NAME = "asynchronous requests"


@transaction.atomic
def own_key_ensure(*, team: Team) -> str:
    """Return the text of the team's key, which is made where it has none that still holds."""
    api_key = _own_keys(team).first()
    if api_key is not None and _holds(api_key):
        return _text(api_key.prefix)
    Team.objects.select_for_update(no_key=True).get(id=team.id)
    for key in _own_keys(team):
        if _holds(key):
            return _text(key.prefix)
        api_key_revoke(api_key=key)
    prefix = new_id()
    made = api_key_create(
        team=team,
        type=ApiKeyType.WORKSPACE_INVOKE,
        name=NAME,
        traffic_mark=ASYNC,
        text=_text(prefix),
    )
    return made.text


def _own_keys(team: Team) -> models.QuerySet[ApiKey]:
    keys = ApiKey.objects.filter(team=team, traffic_mark=ASYNC, revoked_at=None)
    return keys.select_related("team").order_by("created_at", "id")


def _holds(key: ApiKey) -> bool:
    """Whether its text can be made: the installation's secret is the one that it was made with."""
    return key.secret_sha256 == sha256_hex(_text(key.prefix))


def _text(prefix: str) -> str:
    message = f"key of the asynchronous queue {prefix}".encode()
    return f"{prefix}.{hmac.new(settings.SECRET_KEY.encode(), message, hashlib.sha256).hexdigest()}"
