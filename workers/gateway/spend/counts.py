"""Tokens by deployment, hour and key, as they are used, and which keys have spent their money.

What this process counted is told to the others as it stands, not as what is new: told twice, or
told into silence, it counts once. Whoever counts alone takes the others to use as much as itself.
"""

from collections.abc import Mapping

from workers.gateway.refusals import Refusal, Refused
from workers.gateway.routes_difference import Difference
from workers.gateway.snapshot import Key
from workers.gateway.spend.measured import HOUR_SECONDS, Place, Spend

EVERYBODY = "*"
_KEPT_HOURS = 2
MEASURED_EVERY_SECONDS = 60
Tokens = Mapping[str, int]
"""By key, and of everybody."""


class SpendCounts:
    def __init__(self) -> None:
        self.processes = 1
        """Those that others count in, too, as far as this one knows."""
        self.is_shared = False
        self.is_limited = False
        """Whether any key's spend is: else nothing is counted."""
        self._spends: dict[str, Spend] = {}
        self._own: dict[Place, dict[str, int]] = {}
        self._shared: dict[Place, dict[str, int]] = {}
        """Of `_own`, what the others have heard."""
        self._others: dict[Place, Tokens] = {}

    def follow(self, changed: Difference) -> None:
        for before, _ in changed.keys:
            if before is not None:
                self._spends.pop(before.id, None)
        for _, after in changed.keys:
            if after is not None and after.spend is not None:
                self._spends[after.id] = after.spend
        self.is_limited = bool(self._spends)

    def used(self, key: Key, deployment_id: str, tokens: int, now: float) -> None:
        """Count an answer that ended; a benchmark is nobody's spend."""
        if not tokens or key.traffic_mark:
            return
        place = Place(int(now) // HOUR_SECONDS * HOUR_SECONDS, deployment_id)
        own = self._own.setdefault(place, {})
        own[EVERYBODY] = own.get(EVERYBODY, 0) + tokens
        if key.id in self._spends:
            own[key.id] = own.get(key.id, 0) + tokens

    def require_money(self, key: Key, now: float) -> None:
        """Return while the key has not spent its money by what was counted. Raises Refused."""
        spend = self._spends.get(key.id)
        if spend is not None and spend.left is not None and self.spent(key.id, now) >= spend.left:
            raise Refused(_SPENT)

    def spent(self, key_id: str, now: float) -> float:
        """Return the key's part of the money of its open hours."""
        spend = self._spends[key_id]
        return sum(
            each.spent(
                self._tokens(each.place, EVERYBODY), self._tokens(each.place, key_id),
                now, spend.measured_at,
            )
            for each in spend.hours
        )  # fmt: skip

    # What counting together asks.

    def unshared(self) -> Mapping[Place, Tokens]:
        """Return what this process counted where the others have heard less."""
        return {
            place: dict(own) for place, own in self._own.items() if own != self._shared.get(place)
        }

    @property
    def places_near_limit(self) -> set[Place]:
        spends = self._spends.values()
        return {each.place for spend in spends if spend.left is not None for each in spend.hours}

    def merge(self, counted: Mapping[Place, Tokens], others: Mapping[Place, Tokens]) -> None:
        self.is_shared = True
        self._shared.update({place: dict(own) for place, own in counted.items()})
        self._others.update(others)

    def count_alone(self) -> None:
        """Take each of the others to use from now on what this one does."""
        self.is_shared = False

    def forget(self, now: float) -> None:
        """Drop hours that are counted whole by the control plane."""
        first = (int(now) // HOUR_SECONDS - _KEPT_HOURS) * HOUR_SECONDS
        for kept in (self._own, self._shared, self._others):
            for place in [each for each in kept if each.hour < first]:
                del kept[place]

    def _tokens(self, place: Place, who: str) -> int:
        own = self._own.get(place, {}).get(who, 0)
        others = self._others.get(place, {}).get(who, 0)
        if not self.is_shared:
            unshared = own - self._shared.get(place, {}).get(who, 0)
            others += unshared * (self.processes - 1)
        return own + others


_SPENT = Refusal(
    status=402,
    code="insufficient_quota",
    error_code="spend_limit_reached",
    message="This API key has used up what it may spend this month, by what gateways have counted "
    "since it was last measured.",
    retry_after_seconds=MEASURED_EVERY_SECONDS,
)
