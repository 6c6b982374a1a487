"""The secrets that the work needs, in exchange for the live lease."""

from collections.abc import Mapping
from typing import Any

import httpx
from django.conf import settings

from controlplane.domain.failures import Blame, Failure
from workers.tasks.leasing.keeper import LeaseKeeper

PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 1.0


class Unredeemed(Exception):
    """The control plane gave out no secrets; the text is why.

    `is_refusal` where it answered, and knows no such live lease. `failure` where it named the
    secret that cannot be had.
    """

    def __init__(
        self, cause: str, *, is_refusal: bool = False, failure: Failure | None = None
    ) -> None:
        super().__init__(cause)
        self.is_refusal = is_refusal
        self.failure = failure


def redeem_secrets(keeper: LeaseKeeper) -> Mapping[str, str]:
    """Return the values by name; a control plane that restarts is waited for.

    Raises:
        Unredeemed: nobody answered in a minute, the answer was no, or a secret does not open.
        Interrupted: the work may not go on.
    """
    answer = _answer(keeper)
    if answer.status_code != httpx.codes.OK:
        cause = f"HTTP {answer.status_code}: {answer.text[:300]}"
        raise Unredeemed(cause, is_refusal=True, failure=_unreadable(answer))
    values: dict[str, str] = answer.json()["secrets"]
    return values


def _unreadable(answer: httpx.Response) -> Failure | None:
    """Return why a secret does not open, or None where the answer is about something else."""
    if answer.status_code != httpx.codes.CONFLICT:
        return None
    told: dict[str, Any] = answer.json()
    return Failure(
        code="EHB-SECRET-UNREADABLE",
        blame=Blame.MACHINE,
        sentence=told["message"],
        field=next(iter(told["fields"]), None),
        hint=told["hint"],
    )


def _answer(keeper: LeaseKeeper) -> httpx.Response:
    clock = keeper.clock
    give_up_at = clock.monotonic() + PATIENCE_SECONDS
    while True:
        keeper.check()
        try:
            answer = _asked(keeper)
        except httpx.TransportError as error:
            cause = f"{type(error).__name__}: {error}"
        else:
            if not answer.is_server_error:
                return answer
            cause = f"HTTP {answer.status_code}"
        if clock.monotonic() >= give_up_at:
            raise Unredeemed(cause)
        clock.sleep(_PAUSE_SECONDS)


def _asked(keeper: LeaseKeeper) -> httpx.Response:
    lease = keeper.lease
    return httpx.post(
        f"{settings.CONTROL_PLANE_URL}/internal/v1/leases/{lease.kind.name}/{lease.id}/secrets",
        json={"token": lease.token, "lease_secret": lease.secret},
        timeout=5,
        # No proxy from the environment: this is a neighbour, and the answer holds secrets.
        trust_env=False,
    )
