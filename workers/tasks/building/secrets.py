"""The secrets that a build's spec names, or why it cannot go on without them."""

from collections.abc import Collection, Mapping
from typing import Any

from django.conf import settings

from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import build
from workers.tasks.building.remote_code import runs_remote_code
from workers.tasks.building.stopped import StepFailed
from workers.tasks.leasing import LeaseKeeper, Unredeemed, redeem_secrets
from workers.tasks.leasing.redeeming import PATIENCE_SECONDS

_TAKERS = frozenset({"fetch", "calibrate", "gate"})
"""Steps that read from elsewhere."""


def takes_secrets(step: str, results: Mapping[str, Mapping[str, Any]]) -> bool:
    return step in _TAKERS and not runs_remote_code(results)


def secrets_of_build(keeper: LeaseKeeper, names: Collection[str]) -> Mapping[str, str]:
    """Return the value of every named secret.

    Raises:
        StepFailed: a secret is missing, or the control plane gave none out.
        Interrupted: the build may not go on.
    """
    if not names:
        return {}
    try:
        values = redeem_secrets(keeper)
    except Unredeemed as failed:
        raise StepFailed(_why(failed)) from None
    missing = sorted(set(names) - set(values))
    if missing:
        raise StepFailed(_missing(missing[0]))
    return values


def _why(failed: Unredeemed) -> Failure:
    if failed.failure is not None:
        return failed.failure
    return _refused(failed) if failed.is_refusal else _unreachable(failed)


def _unreachable(failed: Unredeemed) -> Failure:
    return build.CONTROL_PLANE.failure(
        address=settings.CONTROL_PLANE_URL, seconds=PATIENCE_SECONDS, detail=str(failed)
    )


def _refused(failed: Unredeemed) -> Failure:
    return build.SECRETS_REFUSED.failure(detail=str(failed))


def _missing(name: str) -> Failure:
    return build.SECRET.failure(name=name, field=f"secrets.{name}")
