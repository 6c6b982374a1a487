"""Answer checks as work that a worker of the queue for models leases."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Q

from apps.accounts.keys.services import api_keys_revoke_of
from apps.deployments.models import AnswerCheck
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kind_parts import always_on
from apps.leases.kinds import LeaseKind
from controlplane.celery import ASYNC_QUEUE
from controlplane.domain.lifecycle import ANSWER_CHECK_TERMINAL, AnswerCheckState
from controlplane.domain.rolling.answer_comparison import Outcome
from controlplane.domain.wire.traffic_mark import ANSWERS

MOST_CLAIMS = 3
"""Each goes on where the one before was lost."""


def keys_revoke(check_ids: Collection[str]) -> None:
    api_keys_revoke_of(AnswerCheck.objects.filter(id__in=check_ids), traffic_mark=ANSWERS)


def _cancel_unawaited() -> None:
    """Have what no promotion waits for cancelled."""
    is_open = AnswerCheck.objects.exclude(state__in=ANSWER_CHECK_TERMINAL)
    rows = is_open.filter(cancel_requested_at=None).select_related("environment").defer("prompts")
    idle = [each.id for each in rows if not _is_awaited(each)]
    if idle:
        AnswerCheck.objects.filter(id__in=idle).update(cancel_requested_at=ClockTimestamp())


def _is_awaited(check: AnswerCheck) -> bool:
    place = check.environment
    answers = (place.promotion or {}).get("answers") or {}
    return place.candidate_id == check.candidate_id and answers.get("check_id") == check.id


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
    queue_of=always_on(ASYNC_QUEUE),
    is_open=~Q(state__in=ANSWER_CHECK_TERMINAL),
    may_be_claimed=Q(cancel_requested_at=None, asked_at__isnull=False),
    waiting={"state": AnswerCheckState.QUEUED},
    claimed={"state": AnswerCheckState.RUNNING},
    since="asked_at",
    cancel_column="cancel_requested_at",
    cancelled={"state": AnswerCheckState.CANCELLED, "finished_at": ClockTimestamp()},
    tidy=_cancel_unawaited,
    let_go=keys_revoke,
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
    end_parts=keys_revoke,
)
