"""The routes that a gateway serves by, and whether it may still."""

from workers.gateway.refusals import Refusal, Refused
from workers.gateway.snapshot import Snapshot

_STARTING = Refusal(
    status=503,
    code="gateway_starting",
    error_code="model_unavailable",
    message="The gateway has not received its routes yet. Send the request again in a moment.",
    retry_after_seconds=2,
)
_UNCONFIRMED = Refusal(
    status=503,
    code="routes_unconfirmed",
    error_code="model_unavailable",
    message="The gateway has been cut off from its control plane for so long that it no longer "
    "knows which keys and routes hold. Its operator finds the cause in its log.",
    retry_after_seconds=60,
)


class KnownRoutes:
    """What the control plane told last."""

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        self.edition = 0
        """Which one it is of those that were taken, whatever versions the control plane gave."""
        self.hold = True
        """Whether the control plane has confirmed the snapshot lately enough to serve by it."""

    def take(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.edition += 1

    def names(self, deployment_id: str) -> bool:
        """Return whether they name the deployment; of any it is so before they are known."""
        known = self.snapshot
        return known is None or any(deployment_id in m.deployments for m in known.models.values())

    def required(self) -> Snapshot:
        """Return the snapshot to serve by. Raises Refused."""
        if self.snapshot is None:
            raise Refused(_STARTING)
        if not self.hold:
            raise Refused(_UNCONFIRMED)
        return self.snapshot

    def state(self, *, is_draining: bool) -> str:
        if is_draining:
            return "draining"
        if self.snapshot is None:
            return "starting"
        return "ok" if self.hold else "unconfirmed"
