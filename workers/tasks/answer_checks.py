"""Tasks of the answer guard: ask both deployments of a promotion, and find what was lost."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from celery import shared_task

from apps.deployments.environments.rolling.answers.asking import (
    Order,
    Place,
    answer_check_begin,
    answer_check_end,
    answer_check_key,
    answer_check_stopped,
    answer_pair_store,
)
from apps.deployments.environments.rolling.answers.leasing import ANSWER_CHECK
from apps.leases.sweeping import leases_sweep
from controlplane.domain.rolling.answer_comparison import Pair
from workers.async_calls.both import Side, ask_both
from workers.tasks.leasing import (
    LeaseKeeper,
    claimed_one,
    kept,
    retry_on_db_error,
    watched,
)
from workers.tasks.ticks import tick

MOST_UNANSWERED = 3
"""After so many that one of the two did not answer, the others are not asked any more."""
_LOOK_SECONDS = 0.5
_log = logging.getLogger(__name__)


@tick("answer_checks.sweep")
def sweep() -> None:
    leases_sweep(ANSWER_CHECK)


@shared_task(name="answer_checks.run")
def run(answer_check_id: str, **newer: Any) -> None:
    """Ask both deployments what is left to ask, if nobody else does."""
    if (lease := claimed_one(ANSWER_CHECK, answer_check_id)) is not None:
        with kept(lease, cancelled=answer_check_stopped) as keeper:
            _ask_all(keeper)


def _ask_all(keeper: LeaseKeeper) -> None:
    order = retry_on_db_error(keeper, lambda: answer_check_begin(lease=keeper.lease))
    key = answer_check_key(lease=keeper.lease)
    unanswered = 0
    for number in range(1, len(order.prompts) + 1):
        if number in order.answered or unanswered == MOST_UNANSWERED:
            continue
        unanswered += not _answer_pair(keeper, order, number, key).is_answered
    if not retry_on_db_error(keeper, lambda: answer_check_end(lease=keeper.lease)):
        _log.warning("%s was taken over; this outcome is dropped", keeper.lease.marker)


def _answer_pair(keeper: LeaseKeeper, order: Order, number: int, key: str) -> Pair:
    pair = asyncio.run(watched(keeper, _asking(order, number, key)))
    retry_on_db_error(keeper, lambda: answer_pair_store(lease=keeper.lease, pair=pair))
    return pair


def _asking(order: Order, number: int, key: str) -> Coroutine[Any, Any, Pair]:
    candidate, current = (_side(each, key) for each in (order.candidate, order.current))
    return ask_both(number, order.prompts[number - 1], candidate=candidate, current=current)


def _side(place: Place, key: str) -> Side:
    return Side(url=place.url, model=place.model, key=key)
