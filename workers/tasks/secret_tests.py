"""The task `secrets.test`: tries a secret on what it should open, and says in words how it went."""

import logging
from typing import Any

import httpx
from celery import shared_task
from django.conf import settings

from apps.secrets.services import SecretTestLease, secret_test_claim, secret_test_finish
from controlplane.domain.redaction import Redactor
from controlplane.domain.secret_tests import ProbeAnswer
from controlplane.sources import SourceOptions
from controlplane.sources.probing import probe
from workers.tasks.checkpoint_sources import source_settings

_log = logging.getLogger(__name__)


@shared_task(name="secrets.test")
def test_secret(test_id: str, **newer: Any) -> None:
    """Make one test, if nobody else does, and store what it found."""
    lease = secret_test_claim(test_id=test_id)
    if lease is None:
        return
    if not secret_test_finish(lease=lease, answer=_answer(lease)):
        _log.warning("the test %s was taken over; this answer is dropped", test_id)


def _answer(lease: SecretTestLease) -> ProbeAnswer:
    try:
        value = _redeemed(lease)
    except httpx.HTTPError as error:
        return ProbeAnswer(
            works=False,
            sentence="The secret could not be had from the control plane.",
            hint=f"`{settings.CONTROL_PLANE_URL}` must answer ({type(error).__name__}).",
        )
    return _told_safely(_probed(lease, value), value)


def _probed(lease: SecretTestLease, value: str) -> ProbeAnswer:
    options = SourceOptions.from_mapping(
        {**source_settings(), "timeout_seconds": 10, "attempts": 2}
    )
    try:
        return probe(
            lease.kind, lease.target, secret_name=lease.secret_name, value=value, options=options
        )
    except Exception as error:
        # Whatever a stranger answers must not leave the page waiting. No traceback: it may quote
        # the value.
        _log.error("the test %s failed: %s", lease.test_id, type(error).__name__)
        return ProbeAnswer(
            works=False,
            sentence=f"The test broke off ({type(error).__name__}).",
            hint="The value may hold characters that no header can carry, or the answer was odd.",
        )


def _told_safely(answer: ProbeAnswer, value: str) -> ProbeAnswer:
    """Return the answer without the value, whatever the other side quoted."""
    redact = Redactor([value]).text
    return ProbeAnswer(
        works=answer.works, sentence=redact(answer.sentence), hint=redact(answer.hint)
    )


def _redeemed(lease: SecretTestLease) -> str:
    url = f"{settings.CONTROL_PLANE_URL}/internal/v1/secret_tests/{lease.test_id}/value"
    body = {"token": lease.token, "lease_secret": lease.secret}
    # No proxy from the environment: this is a neighbour, and the answer holds a secret.
    answer = httpx.post(url, json=body, timeout=10, trust_env=False).raise_for_status()
    values: dict[str, str] = answer.json()["secrets"]
    return next(iter(values.values()))
