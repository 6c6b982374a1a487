"""Who is asking: a key out of an Authorization header, and what that key may do."""

import math
from collections.abc import Mapping
from hashlib import sha256

from controlplane.domain.wire.async_requests import ON_BEHALF_HEADER
from controlplane.domain.wire.traffic_mark import ASYNC, MARK_HEADER
from workers.gateway.refusals import Refusal, Refused
from workers.gateway.snapshot import Key, Scope, Snapshot

SCHEMES = (b"bearer", b"api-key")
INVOKING = frozenset({Scope.FULL, Scope.INVOKE})
MEASURING = frozenset({Scope.FULL, Scope.METRICS})


def authenticate(authorization: bytes | None, snapshot: Snapshot, *, now: float) -> Key:
    """Return the live key named by an Authorization header. Raises Refused."""
    if not authorization:
        raise Refused(_MISSING)
    scheme, _, secret = authorization.partition(b" ")
    if scheme.lower() not in SCHEMES:
        raise Refused(_MISSING)
    # The table is keyed by digest, so a lookup's timing says nothing of a stored key.
    key = snapshot.keys.get(sha256(secret.strip()).hexdigest())
    if key is None:
        raise Refused(_UNKNOWN)
    if key.expires_at is not None and key.expires_at <= now:
        raise Refused(_EXPIRED)
    return key


def require_scope(key: Key, allowed: frozenset[Scope]) -> None:
    if key.scope not in allowed:
        raise Refused(_OUT_OF_SCOPE[key.scope])


def require_money(key: Key, *, now: float) -> None:
    """Return if the key has not used up what it may spend this month. Raises Refused."""
    if key.spent_until is not None and key.spent_until > now:
        raise Refused(
            Refusal(
                status=402,
                code="insufficient_quota",
                error_code="spend_limit_reached",
                message="This API key has used up what it may spend this month.",
                retry_after_seconds=math.ceil(key.spent_until - now),
            )
        )


def require_mark(key: Key, header: bytes | None) -> None:
    """Return if the request is marked as its key's are, which most are not. Raises Refused."""
    if (header or b"").strip().decode("latin-1") != key.traffic_mark:
        raise Refused(_other_mark(key.traffic_mark) if key.traffic_mark else _NO_MARK)


def behind(key: Key, named: Mapping[bytes, bytes], snapshot: Snapshot, *, now: float) -> Key:
    """Return the key that a request counts for: of the queue's own, the one that asked it.

    Raises Refused where that one has ended.
    """
    if key.traffic_mark != ASYNC:
        return key
    caller = snapshot.keys.get(named.get(_ON_BEHALF, b"").decode("latin-1"))
    if caller is None or caller.team_id != key.team_id or caller.traffic_mark:
        raise Refused(_CALLER_GONE)
    if caller.expires_at is not None and caller.expires_at <= now:
        raise Refused(_CALLER_GONE)
    return caller


def _other_mark(mark: str) -> Refusal:
    return _unauthorized(
        f"This API key was made for requests that carry `{MARK_HEADER}: {mark}`. Use a key of your "
        "own.",
        403,
    )


def _unauthorized(message: str, status: int = 401) -> Refusal:
    code = "invalid_api_key" if status == 401 else "insufficient_permissions"
    return Refusal(status=status, code=code, error_code="unauthorized", message=message)


_MISSING = _unauthorized(
    "This request carries no API key. Send `Authorization: Bearer <key>` "
    "or `Authorization: Api-Key <key>`."
)
_UNKNOWN = _unauthorized("This API key does not exist or was revoked. Make a new one in settings.")
_EXPIRED = _unauthorized("This API key has expired. Make a new one in settings.")
_NO_MARK = _unauthorized(
    f"`{MARK_HEADER}` is set by benchmarks, with keys of their own. Leave it out.", 403
)
_ON_BEHALF = ON_BEHALF_HEADER.encode()
_CALLER_GONE = _unauthorized("The API key that sent this request has ended.", 403)
_OUT_OF_SCOPE = {
    Scope.METRICS: _unauthorized("This API key may only read metrics, not call models.", 403),
    Scope.INVOKE: _unauthorized("This API key may only call models, not read metrics.", 403),
    Scope.FULL: _unauthorized("This API key may not do this.", 403),
}
