"""The secrets that the work needs, in exchange for the live lease."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings

from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import build
from controlplane.domain.json_text import read_json
from workers.bounded_http import Answer, Limits, NoAnswer, ask
from workers.tasks.leasing.keeper import LeaseKeeper

PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 1.0
_LIMITS = Limits(seconds=5.0, most_bytes=4 * 1024 * 1024)


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
    if answer.status != HTTPStatus.OK:
        cause = f"HTTP {answer.status}: {answer.content.decode(errors='replace')[:300]}"
        raise Unredeemed(cause, is_refusal=True, failure=_unreadable(answer))
    return _values(answer)


def _unreadable(answer: Answer) -> Failure | None:
    if answer.status != HTTPStatus.CONFLICT:
        return None
    try:
        content: Any = read_json(answer.content)
        return build.SECRET_UNREADABLE.failure(
            message=str(content["message"]),
            advice=str(content["hint"]),
            field=next(iter(content["fields"]), None),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _values(answer: Answer) -> Mapping[str, str]:
    # Nothing of what came is repeated: it may hold values.
    try:
        values = read_json(answer.content)["secrets"]
        return {str(name): str(value) for name, value in values.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unredeemed("what answered is not the control plane") from None


def _answer(keeper: LeaseKeeper) -> Answer:
    clock = keeper.clock
    give_up_at = clock.monotonic() + PATIENCE_SECONDS
    while True:
        keeper.check()
        try:
            answer = _redeemed(keeper)
        except NoAnswer as error:
            cause = str(error)
        else:
            if answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                return answer
            cause = f"HTTP {answer.status}"
        if clock.monotonic() >= give_up_at:
            raise Unredeemed(cause)
        clock.sleep(_PAUSE_SECONDS)


def _redeemed(keeper: LeaseKeeper) -> Answer:
    lease = keeper.lease
    place = f"internal/v1/leases/{lease.kind.name}/{lease.id}/secrets"
    return ask(
        "POST",
        f"{settings.CONTROL_PLANE_URL}/{place}",
        limits=_LIMITS,
        json_body={"token": lease.token, "lease_secret": lease.secret},
    )
