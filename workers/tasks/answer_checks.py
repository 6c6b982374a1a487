"""Tasks of the answer guard: ask both deployments of a promotion, and find what was lost."""

import asyncio
import logging
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
from apps.leases.lease import LeaseLost
from apps.leases.services import lease_claim
from apps.leases.sweeping import leases_sweep
from controlplane.domain.rolling.answer_comparison import Pair
from workers.async_calls.both import Side, ask_both
from workers.tasks.leasing import (
    Interrupted,
    LeaseKeeper,
    LeaseStatus,
    claimed,
    drop_or_hand_over,
    retry_on_db_error,
)

MOST_UNANSWERED = 3
"""After so many that one of the two did not answer, the others are not asked any more."""
_LOOK_SECONDS = 0.5
_log = logging.getLogger(__name__)


@shared_task(name="answer_checks.sweep")
def sweep(*, format: int, **unknown: object) -> None:
    """Make checks true again after a worker or a message was lost."""
    if unknown:
        _log.warning("answer_checks.sweep: unknown arguments %s", sorted(unknown))
    leases_sweep(ANSWER_CHECK)


@shared_task(name="answer_checks.run")
def run(answer_check_id: str, **newer: Any) -> None:
    """Ask both deployments what is left to ask, if nobody else does."""
    lease = claimed(lambda owner: lease_claim(kind=ANSWER_CHECK, id=answer_check_id, owner=owner))
    if lease is None:
        return
    with LeaseKeeper(lease) as keeper:
        try:
            _ask_all(keeper)
        except LeaseLost:
            drop_or_hand_over(keeper, Interrupted(LeaseStatus.LOST))
        except Interrupted as stopped:
            _end_interrupted(keeper, stopped)


def _ask_all(keeper: LeaseKeeper) -> None:
    order = retry_on_db_error(keeper, lambda: answer_check_begin(lease=keeper.lease))
    key = answer_check_key(lease=keeper.lease)
    unanswered = 0
    for number in range(1, len(order.prompts) + 1):
        if number in order.answered or unanswered == MOST_UNANSWERED:
            continue
        unanswered += not _asked(keeper, order, number, key).is_answered
    if not retry_on_db_error(keeper, lambda: answer_check_end(lease=keeper.lease)):
        _log.warning("%s was taken over; this outcome is dropped", keeper.lease.marker)


def _asked(keeper: LeaseKeeper, order: Order, number: int, key: str) -> Pair:
    """Return what both said, which is stored."""
    pair = asyncio.run(_watched(keeper, order, number, key))
    retry_on_db_error(keeper, lambda: answer_pair_store(lease=keeper.lease, pair=pair))
    return pair


async def _watched(keeper: LeaseKeeper, order: Order, number: int, key: str) -> Pair:
    """Return what both said. Raises Interrupted, having left the gateway, which stops both."""
    candidate, current = (_side(each, key) for each in (order.candidate, order.current))
    prompt = order.prompts[number - 1]
    asking = asyncio.ensure_future(ask_both(number, prompt, candidate=candidate, current=current))
    try:
        while not asking.done():
            await asyncio.wait((asking,), timeout=_LOOK_SECONDS)
            if not asking.done():
                keeper.check()
        return asking.result()
    finally:
        asking.cancel()
        await asyncio.wait((asking,))


def _side(place: Place, key: str) -> Side:
    return Side(url=place.url, model=place.model, key=key)


def _end_interrupted(keeper: LeaseKeeper, stopped: Interrupted) -> None:
    if stopped.status is LeaseStatus.CANCEL:
        retry_on_db_error(keeper, lambda: answer_check_stopped(lease=keeper.lease))
    else:
        drop_or_hand_over(keeper, stopped)
