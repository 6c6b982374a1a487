"""Where a request goes: to a replica that is chosen for it, to the queue, or nowhere yet."""

from collections import Counter
from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from controlplane.clock import SYSTEM, Clock
from controlplane.process_settings.gateway import SESSION_HEADER, ReplicaChoice
from workers.gateway.choice.beliefs import Sent
from workers.gateway.choice.chooser import NO_WISH, Choice, Chooser, Wish
from workers.gateway.choice.pool import UpstreamPool, replicas_of
from workers.gateway.choice.probes import Probes
from workers.gateway.choice.rendezvous import number_of
from workers.gateway.metrics import Metrics
from workers.gateway.refusals import Refusal, deployment_full
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Deployment, Replica
from workers.gateway.suspects import Suspects
from workers.gateway.turns.turns import Turns
from workers.gateway.upstream import Upstream
from workers.gateway.usage import TokenCounts

if TYPE_CHECKING:
    from workers.gateway.exchange import Exchange


class Placing:
    """What exchanges ask for a replica, or for their turn at one."""

    def __init__(
        self,
        bounds: Bounds,
        metrics: Metrics,
        suspects: Suspects,
        *,
        choice: ReplicaChoice = ReplicaChoice.PREFIX,
        session_header: str = SESSION_HEADER,
        clock: Clock = SYSTEM,
    ) -> None:
        self._metrics, self._suspects = metrics, suspects
        self._session_header = session_header.encode()
        self.pool = UpstreamPool(bounds, clock=clock)
        self.probes = Probes(self.pool, clock=clock)
        self._chooser = Chooser(self.pool, by=choice, clock=clock)
        self.turns = Turns(bounds, metrics, self._has_room)

    def choose(self, exchange: "Exchange", tried: set[str]) -> Choice | None:
        deployment = exchange.admission.deployment
        replicas = deployment.replicas if not deployment.suspects else self._answering(deployment)
        wish = NO_WISH if len(replicas) < 2 else Wish(exchange.prompt, self._session(exchange))
        if len(self.turns) and self.turns.is_behind_others(exchange):
            return None
        if (limit := deployment.backpressure) is None:
            return self._chooser.choose(replicas, tried, wish)
        return self._chooser.choose(replicas, tried, wish, most_in_flight=limit.concurrency)

    def is_full(self, exchange: "Exchange", tried: set[str]) -> bool:
        """Return whether replicas would answer that have as much as they may have, or take."""
        answering = self._answering(exchange.admission.deployment)
        return any(each.address not in tried for each in answering)

    def waits_for_room(self, exchange: "Exchange", upstream: Upstream, status: int) -> bool:
        """Return whether a request that an engine refused for want of room waits for its turn.

        An engine that has none else of ours is no fuller a moment later, and the queue of
        asynchronous requests waits by itself.
        """
        beside, limit = upstream.in_flight - 1, exchange.admission.deployment.backpressure
        rejects = limit is not None and limit.rejects
        if status != HTTPStatus.TOO_MANY_REQUESTS or rejects or exchange.is_async or not beside:
            return False
        upstream.room.refused(beside)
        return True

    def wait_for_turn(self, exchange: "Exchange") -> Refusal | None:
        """Queue it until it is called; return why it cannot wait, or None."""
        deployment = exchange.admission.deployment
        counts = self._metrics.of(deployment.model_id, deployment.id)
        limit = deployment.backpressure
        each = None if limit is None else limit.concurrency
        carried = sum(each or self.pool.of(one).room.most for one in self._answering(deployment))
        pause = counts.seconds_until_room(self.turns.waiting(deployment.id) + 1, carried)
        if limit is not None and limit.rejects:
            return deployment_full(deployment, limit.concurrency, pause)
        exchange.reckoned_tokens = counts.tokens.reckon(exchange.request_bytes)
        return self.turns.add(exchange, retry_after_seconds=pause)

    def left(self, deployment: Deployment) -> None:
        """Note that a replica of the deployment has room for another request."""
        if len(self.turns):
            self.turns.call(deployment)

    def took(self, exchange: "Exchange", choice: Choice) -> None:
        exchange.sent = self._chooser.took(choice, exchange.prompt)

    def may_come(self, deployment: Deployment) -> bool:
        """Return whether a replica that cannot be chosen yet may be so in a moment."""
        return self._suspects.may_answer(deployment)

    def ejected(self, deployment: Deployment) -> dict[str, int]:
        healths = (self.pool.of(each).health for each in replicas_of(deployment))
        return dict(Counter(each.reason for each in healths if not each.is_well))

    def ended(self, exchange: "Exchange", used: TokenCounts | None) -> None:
        """Release the replica, and charge the key's turn with what was really used."""
        if used is not None and exchange.sent is not None:
            self._correct(exchange, exchange.sent, used)
        if not len(self.turns):
            return
        self.turns.discard(exchange)
        tokens = 0 if used is None else used.prompt + used.completion
        if tokens and len(self.turns):
            more = tokens - exchange.reckoned_tokens
            admission = exchange.admission
            self.turns.charge(admission.deployment.id, admission.key.id, more)

    def _correct(self, exchange: "Exchange", sent: Sent, used: TokenCounts) -> None:
        if (outcome := self._chooser.answered(sent, used)) is not None:
            deployment = exchange.admission.deployment
            self._metrics.of(deployment.model_id, deployment.id).believed(outcome)

    def _answering(self, deployment: Deployment) -> Sequence[Replica]:
        if not deployment.suspects:
            return deployment.replicas
        return (*deployment.replicas, *self._suspects.answering(deployment))

    def _has_room(self, deployment: Deployment) -> bool:
        limit = deployment.backpressure
        upstreams = map(self.pool.of, self._answering(deployment))
        return any(
            each.room.takes(each.in_flight)
            and (limit is None or each.in_flight < limit.concurrency)
            for each in upstreams
        )

    def _session(self, exchange: "Exchange") -> int | None:
        name = exchange.request.named.get(self._session_header)
        if not name:
            return None
        return number_of(exchange.admission.key.id, name.decode("latin-1"))
