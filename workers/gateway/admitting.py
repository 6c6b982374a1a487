"""What a request may ask, decided as soon as its head is here: key, scope, money, deployment."""

from collections.abc import Callable
from math import inf

from controlplane.domain.wire.traffic_mark import MARK_HEADER
from workers.gateway.async_calls import ASYNC_ACTIONS, READING, async_ask
from workers.gateway.authentication import (
    INVOKING,
    MEASURING,
    authenticate,
    behind,
    require_mark,
    require_money,
    require_scope,
)
from workers.gateway.known_routes import KnownRoutes
from workers.gateway.request import Admission, Request
from workers.gateway.routing import Place, Target, parse_target, require_open, resolve
from workers.gateway.shares import CANARY_HEADER, CanaryWish, Shares
from workers.gateway.snapshot import Key, Snapshot
from workers.gateway.spend.counts import SpendCounts

_MARK_HEADER = MARK_HEADER.encode()


class Admitting:
    """Decides by today's routes; `key_time` tells when keys end, in seconds since the epoch."""

    def __init__(
        self, routes: KnownRoutes, spend: SpendCounts, key_time: Callable[[], float]
    ) -> None:
        self._routes, self._spend, self._key_time = routes, spend, key_time
        self._shares = Shares()

    def decide(self, request: Request) -> None:
        """Set what the request may do. Raises Refused."""
        snapshot, now = self._routes.required(), self._key_time()
        known, edition = request.known, self._routes.edition
        if known is not None and known.edition == edition and now < known.holds_until:
            request.admission = known.admission
            return
        key = authenticate(request.authorization, snapshot, now=now)
        target = parse_target(request.path)
        require_mark(key, request.named.get(_MARK_HEADER))
        key = behind(key, request.named, snapshot, now=now)
        require_scope(key, MEASURING | INVOKING if _reads_metrics(target, request) else INVOKING)
        if target.action not in READING:
            require_money(key, now=now)
            self._spend.require_money(key, now)
        wish = CanaryWish(request.named.get(CANARY_HEADER, b""))
        if target.action in ASYNC_ACTIONS:
            request.async_ask = async_ask(key, target, request, snapshot, self._shares, wish)
        else:
            request.admission = self._admitted(key, target, request.method, snapshot, wish)
            _keep(request, request.admission, snapshot, edition)

    def again(self, admission: Admission, request: Request) -> Admission:
        wish = CanaryWish(request.named.get(CANARY_HEADER, b""), admission.deployment.id)
        snapshot = self._routes.required()
        return self._admitted(admission.key, admission.target, request.method, snapshot, wish)

    def measuring_key(self, request: Request) -> tuple[Key, Snapshot]:
        """Return whose metrics are asked for, and the routes. Raises Refused."""
        snapshot = self._routes.required()
        key = authenticate(request.authorization, snapshot, now=self._key_time())
        require_scope(key, MEASURING)
        return key, snapshot

    def _admitted(
        self, key: Key, target: Target, method: bytes, snapshot: Snapshot, wish: CanaryWish
    ) -> Admission:
        deployment = resolve(target, key, snapshot, self._shares, wish)
        require_open(target, method, deployment)
        return Admission.of(key, target, deployment)


def _keep(request: Request, admission: Admission, snapshot: Snapshot, edition: int) -> None:
    """Keep the admission for the next request with this head, where nothing else counts."""
    known, key = request.known, admission.key
    is_counted = key.spent_until is not None or key.spend is not None
    is_spread = admission.target.place is Place.ENVIRONMENT and bool(
        snapshot.models[admission.target.model_id].shares
    )
    if known is None or is_spread or is_counted or _MARK_HEADER in request.named:
        return
    known.admission, known.edition = admission, edition
    known.holds_until = inf if key.expires_at is None else key.expires_at


def _reads_metrics(target: Target, request: Request) -> bool:
    return target.route == "/metrics" and request.method == b"GET"
