"""The secrets that a spec names, in exchange for the live lease."""

import time
from collections.abc import Collection, Mapping

import httpx
from django.conf import settings

from controlplane.domain.failures import Blame, Failure
from workers.tasks.building.keeper import LeaseKeeper
from workers.tasks.building.stopped import StepFailed

_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 1.0


def redeem_secrets(keeper: LeaseKeeper, names: Collection[str]) -> Mapping[str, str]:
    """Return the value of every named secret; a control plane that restarts is waited for.

    Raises:
        StepFailed: a secret is missing, or nobody answered in a minute.
        Interrupted: the build may not go on.
    """
    if not names:
        return {}
    answer = _ask(keeper)
    if answer.status_code != httpx.codes.OK:
        raise StepFailed(_refused(answer))
    values: dict[str, str] = answer.json()["secrets"]
    missing = sorted(set(names) - set(values))
    if missing:
        raise StepFailed(_missing(missing[0]))
    return values


def _ask(keeper: LeaseKeeper) -> httpx.Response:
    lease = keeper.lease
    url = f"{settings.CONTROL_PLANE_URL}/internal/v1/builds/{lease.build_id}/secrets"
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        keeper.check()
        try:
            # No proxy from the environment: this is a neighbour, and the answer holds secrets.
            answer = httpx.post(
                url,
                json={"token": lease.token, "lease_secret": lease.secret},
                timeout=5,
                trust_env=False,
            )
        except httpx.TransportError as error:
            cause = f"{type(error).__name__}: {error}"
        else:
            if not answer.is_server_error:
                return answer
            cause = f"HTTP {answer.status_code}"
        if time.monotonic() > deadline:
            raise StepFailed(_unreachable(cause))
        time.sleep(_PAUSE_SECONDS)


def _missing(name: str) -> Failure:
    return Failure(
        code="EHB-SECRET",
        blame=Blame.CONFIGURATION,
        sentence=f"The team has no secret named `{name}`, which this config needs.",
        field=f"secrets.{name}",
        hint=f"Add a secret named `{name}`, then retry.",
    )


def _refused(answer: httpx.Response) -> Failure:
    return Failure(
        code="EHB-SECRETS-REFUSED",
        blame=Blame.OURS,
        sentence="The control plane did not hand out this build's secrets.",
        hint="Retry the build.",
        detail=f"HTTP {answer.status_code}: {answer.text[:300]}",
    )


def _unreachable(cause: str) -> Failure:
    return Failure(
        code="EHB-CONTROL-PLANE",
        blame=Blame.MACHINE,
        sentence=f"The control plane at `{settings.CONTROL_PLANE_URL}` did not answer for "
        f"{_PATIENCE_SECONDS:.0f} seconds, so the build's secrets could not be read.",
        hint="Check that the web process runs and that CONTROL_PLANE_URL of the build worker "
        "names it, then retry.",
        detail=cause,
    )
