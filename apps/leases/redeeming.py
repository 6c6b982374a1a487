"""Secrets in exchange for a live lease: the one security check."""

import hmac
from collections.abc import Mapping

from apps.accounts.hashing import sha256_hex
from apps.leases.kinds import lease_kinds
from apps.leases.services import live_lease


def lease_redeem(*, name: str, id: str, token: int, secret: str) -> Mapping[str, str] | None:
    kind = lease_kinds().get(name)
    if kind is None:
        return None
    live = kind.model._default_manager.filter(kind.is_open, live_lease(), pk=id, lease_token=token)
    row = live.select_related(*kind.related).first() if kind.related else live.first()
    if row is None or not hmac.compare_digest(row.lease_secret_sha256, sha256_hex(secret)):
        return None
    return kind.secrets_of(row)
