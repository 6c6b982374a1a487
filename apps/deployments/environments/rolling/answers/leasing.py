"""Answer checks as work that a worker of the queue for models leases."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Q

from apps.accounts.keys.services import api_key_revoke
from apps.accounts.models import ApiKey
from apps.deployments.models import AnswerCheck
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kinds import LeaseKind
from apps.leases.services import TAKEN_AWAY, leases_unheld
from controlplane.celery import ASYNC_QUEUE
from controlplane.domain.lifecycle import ANSWER_CHECK_TERMINAL, AnswerCheckState
from controlplane.domain.rolling.answer_comparison import Outcome
from controlplane.domain.wire.traffic_mark import ANSWERS

MOST_CLAIMS = 3
"""Each goes on where the one before was lost."""


def keys_revoke(check_ids: Collection[str]) -> None:
    """Revoke the keys that were made for these checks."""
    rows = AnswerCheck.objects.filter(id__in=check_ids, api_key__revoked_at=None)
    ids = list(rows.exclude(api_key=None).values_list("api_key", flat=True))
    for key in ApiKey.objects.filter(id__in=ids, traffic_mark=ANSWERS).select_related("team"):
        api_key_revoke(api_key=key)


def _queue_of(_check: AnswerCheck) -> str:
    return ASYNC_QUEUE


def _no_secrets(_check: AnswerCheck) -> Mapping[str, str]:
    return {}


def _tidy() -> None:
    """Call off what no promotion waits for, and end what nobody holds of it."""
    is_open = AnswerCheck.objects.exclude(state__in=ANSWER_CHECK_TERMINAL)
    rows = is_open.filter(cancel_requested_at=None).select_related("environment").defer("prompts")
    idle = [each.id for each in rows if not _is_awaited(each)]
    if idle:
        AnswerCheck.objects.filter(id__in=idle).update(cancel_requested_at=ClockTimestamp())
    _end_abandoned()


def _end_abandoned() -> None:
    abandoned = leases_unheld(ANSWER_CHECK).exclude(cancel_requested_at=None)
    ids = list(abandoned.values_list("id", flat=True))
    ended = leases_unheld(ANSWER_CHECK).filter(id__in=ids).update(
        state=AnswerCheckState.CANCELLED, finished_at=ClockTimestamp(), **TAKEN_AWAY
    )  # fmt: skip
    if ended:
        keys_revoke(ids)


def _is_awaited(check: AnswerCheck) -> bool:
    place = check.environment
    told = (place.promotion or {}).get("answers") or {}
    return place.candidate_id == check.candidate_id and told.get("check_id") == check.id


def _given_up() -> Mapping[str, Any]:
    return {
        "state": AnswerCheckState.FINISHED,
        "outcome": Outcome.UNANSWERED,
        "sentence": f"Not answered: the worker that asked was lost {MOST_CLAIMS} times.",
        "finished_at": ClockTimestamp(),
    }


ANSWER_CHECK = LeaseKind(
    name="answer_check",
    model=AnswerCheck,
    task="answer_checks.run",
    queue_of=_queue_of,
    secrets_of=_no_secrets,
    is_open=~Q(state__in=ANSWER_CHECK_TERMINAL),
    may_be_claimed=Q(cancel_requested_at=None, asked_at__isnull=False),
    waiting={"state": AnswerCheckState.QUEUED},
    claimed={"state": AnswerCheckState.RUNNING},
    since="asked_at",
    cancel_column="cancel_requested_at",
    tidy=_tidy,
    let_go=keys_revoke,
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
    end_parts=keys_revoke,
)
