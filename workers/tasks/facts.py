"""Reads what checkpoints say of themselves, so that checks need no network."""

import logging
import threading
from types import TracebackType
from typing import Any

import httpx
from celery import shared_task
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from apps.configs.calibration_sets.services import previews_sweep
from apps.configs.services import (
    RENEW_SECONDS,
    FactsLease,
    facts_claim,
    facts_finish,
    facts_renew,
    facts_sweep,
    verdicts_refresh,
)
from apps.secrets.services import secret_tests_sweep
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.failures import Blame, Failure
from controlplane.sources import SourceFailure, SourceOptions, read_facts
from workers.tasks.checkpoint_sources import source_settings

_log = logging.getLogger(__name__)


@shared_task(name="configs.fetch_facts")
def fetch_facts(facts_id: str, **newer: Any) -> None:
    """Read one checkpoint's facts and store them, or why they could not be read."""
    lease = facts_claim(facts_id=facts_id)
    if lease is None:
        return
    with _Renewing(lease):
        read = _read(lease)
    if not facts_finish(lease=lease, read=read):
        _log.warning("facts %s were taken over; this result is dropped", facts_id)
        return
    verdicts_refresh(facts_id=facts_id)


@shared_task(name="configs.sweep")
def sweep(**newer: Any) -> None:
    """Send again what lost its message or its worker."""
    facts_sweep()
    previews_sweep()
    secret_tests_sweep()


def _read(lease: FactsLease) -> CheckpointFacts | Failure:
    try:
        return read_facts(lease.checkpoint, token=_token(lease), options=_options())
    except SourceFailure as error:
        return error.failure
    except Exception as error:
        # Whatever a stranger's files hold must not leave a check waiting for ever.
        _log.exception("facts %s could not be read", lease.facts_id)
        return Failure(
            code="EHS-UNREADABLE",
            blame=Blame.OURS,
            sentence=f"The files of `{lease.checkpoint.repo}` could not be read.",
            hint="The log of the control worker has the cause.",
            detail=type(error).__name__,
        )


def _token(lease: FactsLease) -> str | None:
    if not lease.needs_secret:
        return None
    url = f"{settings.CONTROL_PLANE_URL}/internal/v1/facts/{lease.facts_id}/secret"
    body = {"token": lease.token, "lease_secret": lease.secret}
    try:
        # No proxy from the environment: this is a neighbour, and the answer holds a secret.
        answer = httpx.post(url, json=body, timeout=10, trust_env=False).raise_for_status()
    except httpx.HTTPError as error:
        raise SourceFailure(_unredeemed(error)) from None
    values: dict[str, str] = answer.json()["secrets"]
    return next(iter(values.values()), None)


def _unredeemed(error: httpx.HTTPError) -> Failure:
    return Failure(
        code="EHS-SECRET",
        blame=Blame.MACHINE,
        sentence="The secret for this checkpoint could not be had from the control plane.",
        hint=f"`{settings.CONTROL_PLANE_URL}` must answer; it is tried again in a minute.",
        detail=type(error).__name__,
    )


def _options() -> SourceOptions:
    return SourceOptions.from_mapping({**source_settings(), "timeout_seconds": 10, "attempts": 2})


class _Renewing:
    """Keeps the lease alive while another thread reads."""

    def __init__(self, lease: FactsLease) -> None:
        self._lease = lease
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"facts-{lease.facts_id}")

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._left.set()
        self._thread.join()

    def _renew(self) -> None:
        while not self._left.wait(RENEW_SECONDS):
            try:
                if not facts_renew(lease=self._lease):
                    return
            except (OperationalError, InterfaceError) as failed:
                # The next turn tries again; a lease that ran out meanwhile is somebody else's.
                _log.warning("facts %s: lease not renewed: %s", self._lease.facts_id, failed)
            finally:
                connection.close()
