"""Which replica a request goes to: where its prompt is known, unless that has too much to do."""

import random
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from controlplane.clock import SYSTEM, Clock
from controlplane.process_settings.gateway import ReplicaChoice
from workers.gateway.choice.beliefs import Belief, Outcome, Sent, belief_in, outcome_of
from workers.gateway.choice.pool import UpstreamPool
from workers.gateway.choice.prefix_index import PrefixIndex
from workers.gateway.choice.prompts import Prompt
from workers.gateway.choice.rendezvous import highest
from workers.gateway.snapshot import Replica
from workers.gateway.upstream import Upstream
from workers.gateway.usage import TokenCounts

LEAST_SHARE = 0.3
"""Of a prompt's letters that a replica must know to be preferred for it."""
GUARD_RATIO = 1.5
GUARD_REQUESTS = 4
"""A preferred replica is passed over with more in flight than so many times the least and four."""
MOST_EJECTED = 0.5
"""Share of the replicas that errors alone may eject."""


class Reason(StrEnum):
    """Why that one."""

    ONLY = "only"
    """No other can be chosen."""
    LEAST_LOADED = "least_loaded"
    PREFIX = "prefix"
    """It was sent most of the prompt before."""
    NEW_PREFIX = "new_prefix"
    """Nobody knows the prompt; what begins so goes there, from every gateway."""
    SESSION = "session"
    OVERLOADED = "overloaded"
    """The preferred one had too much to do: the least loaded."""
    RANDOM = "random"


class Choice(NamedTuple):
    upstream: Upstream
    reason: Reason
    belief: Belief | None = None
    """What its engine is thought to have cached, where it was chosen for that."""


class Wish(NamedTuple):
    prompt: Prompt | None = None
    session: int | None = None
    """Requests of one session go where the others went."""


NO_WISH = Wish()


class Chooser:
    """Least loaded under a guard; sessions and known prompts before it."""

    def __init__(
        self,
        pool: UpstreamPool,
        *,
        by: ReplicaChoice = ReplicaChoice.PREFIX,
        clock: Clock = SYSTEM,
    ) -> None:
        self._pool = pool
        self._by = by
        self._clock = clock
        self._index = PrefixIndex()

    def choose(
        self,
        replicas: Sequence[Replica],
        tried: set[str],
        wish: Wish = NO_WISH,
        *,
        most_in_flight: int | None = None,
    ) -> Choice | None:
        upstreams = self._candidates(replicas, tried, most_in_flight)
        if len(upstreams) < 2:
            return Choice(upstreams[0], Reason.ONLY) if upstreams else None
        usable = _usable(upstreams)
        if self._by is ReplicaChoice.RANDOM:
            return Choice(random.choice(usable), Reason.RANDOM)  # nosec B311 (spreads load)
        return self._within_guard(usable, wish, self._clock.monotonic())

    def took(self, choice: Choice, prompt: Prompt | None) -> Sent | None:
        """Remember what it was sent; return what its answer is to be held against."""
        if prompt is None:
            return None
        upstream = choice.upstream
        self._index.remember(prompt, upstream.cache)
        if choice.reason is Reason.ONLY:
            return None
        return Sent(prompt, upstream, upstream.cache, choice.belief)

    def answered(self, sent: Sent, used: TokenCounts) -> Outcome | None:
        """Correct what is known of the replica's cache by what its engine says it had cached."""
        uses, belief = self._index.uses, sent.belief
        if (cached := sent.cached_tokens(used)) is None:
            return None
        outcome = None
        if belief is not None:
            least = sent.upstream.least_cached_tokens
            outcome = outcome_of(belief, used.prompt, cached, least_cached_tokens=least)
            if outcome is Outcome.DROPPED:
                uses.dropped(sent.cache, belief.last_use)
        uses.answered(sent.prompt.blocks, sent.cache)
        return outcome

    def _candidates(
        self, replicas: Sequence[Replica], tried: set[str], most_in_flight: int | None
    ) -> list[Upstream]:
        known = map(self._pool.of, replicas)
        upstreams = [each for each in known if each.room.is_open or each.room.takes(each.in_flight)]
        if tried:
            upstreams = [each for each in upstreams if each.address not in tried]
        if most_in_flight is not None:
            upstreams = [each for each in upstreams if each.in_flight < most_in_flight]
        return upstreams

    def _within_guard(self, usable: list[Upstream], wish: Wish, now: float) -> Choice:
        least = _least_loaded(usable, now)
        preferred = self._preferred(usable, wish, now) if len(usable) > 1 else None
        if preferred is None:
            return Choice(least, Reason.LEAST_LOADED)
        if preferred.upstream is least:
            return preferred
        if preferred.upstream.load(now) > GUARD_RATIO * least.load(now) + GUARD_REQUESTS:
            return Choice(least, Reason.OVERLOADED)
        return preferred

    def _preferred(self, usable: list[Upstream], wish: Wish, now: float) -> Choice | None:
        if wish.session is not None:
            return Choice(highest(usable, wish.session), Reason.SESSION)
        if wish.prompt is None or self._by is not ReplicaChoice.PREFIX:
            return None
        by_cache = {each.cache: each for each in usable}
        prompt = wish.prompt
        known, letters = self._index.longest(prompt, by_cache)
        if letters > prompt.others_letters and letters >= LEAST_SHARE * prompt.ends[-1]:
            upstreams = [by_cache[each] for each in known]
            best = upstreams[0] if len(upstreams) == 1 else _least_loaded(upstreams, now)
            belief = belief_in(prompt, letters, best.cache, self._index.uses)
            return Choice(best, Reason.PREFIX, belief)
        return Choice(highest(usable, prompt.home), Reason.NEW_PREFIX) if prompt.is_long else None


def _least_loaded(among: list[Upstream], now: float) -> Upstream:
    least, its_load = among[0], among[0].load(now)
    for each in among[1:]:
        # Hardly one of them warms up, and a call of each request's is saved.
        load = each.in_flight if each.warms_from is None else each.load(now)
        if load < its_load:
            least, its_load = each, load
    return least


def _usable(upstreams: list[Upstream]) -> list[Upstream]:
    """Return those that no failure has ejected, or all: the last one is never ejected.

    Where errors in answers alone would eject more than a share, the fault is not the replicas'.
    """
    sound = [each for each in upstreams if each.health.is_well or each.health.may_try]
    if len(sound) == len(upstreams):
        return upstreams
    reachable = [
        each for each in upstreams if each.health.only_errs or each.health.may_try
    ] or upstreams
    sound = [each for each in reachable if each.health.may_try]
    is_theirs = len(reachable) - len(sound) <= MOST_EJECTED * len(reachable)
    return sound if sound and is_theirs else reachable
