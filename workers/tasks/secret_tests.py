"""The task `secrets.test`: tries a secret on what it should open, and says in words how it went."""

import logging
from typing import Any

from celery import shared_task
from django.conf import settings

from apps.secrets.services.trials import (
    SECRET_TEST,
    SecretToTest,
    secret_test_finish,
    secret_to_test,
)
from controlplane.domain.redaction import Redactor
from controlplane.domain.secret_tests import ProbeAnswer
from controlplane.sources import SourceOptions
from controlplane.sources.probing import probe
from workers.tasks.checkpoint_sources import source_settings
from workers.tasks.leasing import (
    LeaseKeeper,
    Unredeemed,
    claimed_one,
    kept,
    redeem_secrets,
    retry_on_db_error,
)

_log = logging.getLogger(__name__)


@shared_task(name="secrets.test")
def test_secret(secret_test_id: str, **newer: Any) -> None:
    if (lease := claimed_one(SECRET_TEST, secret_test_id)) is not None:
        with kept(lease) as keeper:
            _try_and_store(keeper)


def _try_and_store(keeper: LeaseKeeper) -> None:
    lease = keeper.lease
    answer = _answer(keeper, retry_on_db_error(keeper, lambda: secret_to_test(test_id=lease.id)))
    if not retry_on_db_error(keeper, lambda: secret_test_finish(lease=lease, answer=answer)):
        _log.warning("the test %s was taken over; this answer is dropped", lease.id)


def _answer(keeper: LeaseKeeper, order: SecretToTest) -> ProbeAnswer:
    try:
        value = next(iter(redeem_secrets(keeper).values()))
    except Unredeemed as error:
        return _unredeemed(error)
    return _without_value(_probed(order, value), value)


def _unredeemed(error: Unredeemed) -> ProbeAnswer:
    if (failure := error.failure) is not None:
        return ProbeAnswer(works=False, sentence=failure.sentence, hint=failure.hint or "")
    return ProbeAnswer(
        works=False,
        sentence="The secret could not be had from the control plane.",
        hint=f"`{settings.CONTROL_PLANE_URL}` must answer ({error}).",
    )


def _probed(order: SecretToTest, value: str) -> ProbeAnswer:
    options = SourceOptions.from_mapping(
        {**source_settings(), "timeout_seconds": 10, "attempts": 2}
    )
    try:
        return probe(
            order.kind,
            order.target,
            secret_name=order.secret_name,
            value=value,
            options=options,
        )
    except Exception as error:
        # Whatever a stranger answers must not leave the page waiting. No traceback: it may quote
        # the value.
        _log.error("a test on %s failed: %s", order.target, type(error).__name__)
        return ProbeAnswer(
            works=False,
            sentence=f"The test broke off ({type(error).__name__}).",
            hint="The value may hold characters that no header can carry, or the answer was odd.",
        )


def _without_value(answer: ProbeAnswer, value: str) -> ProbeAnswer:
    """Return the answer without the value, whatever the other side quoted."""
    redact = Redactor([value]).text
    return ProbeAnswer(
        works=answer.works, sentence=redact(answer.sentence), hint=redact(answer.hint)
    )
