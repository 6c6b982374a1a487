"""What the worker that asks both deployments reads and writes; every write names its lease."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings

from apps.accounts.keys.services import KeyLimits, api_key_create, api_key_revoke
from apps.accounts.models import ApiKeyType
from apps.deployments.addresses import CHAT_ROUTE
from apps.deployments.environments.rolling.answers.leasing import keys_revoke
from apps.deployments.models import AnswerCheck, AnswerPair, Deployment
from apps.deployments.selectors import served_model_name
from apps.leases.database_clock import ClockTimestamp
from apps.leases.lease import Lease, LeaseLost
from apps.leases.services import lease_end, lease_held
from controlplane import clock
from controlplane.domain.lifecycle import AnswerCheckState
from controlplane.domain.rolling.answer_comparison import Answer, Pair, verdict
from controlplane.domain.rolling.answer_guard import AnswerGuardSettings, Prompt
from controlplane.domain.storable import storable
from controlplane.domain.wire.traffic_mark import ANSWERS

KEPT_CHARACTERS = 8_000
"""Of an answer; how long it was, and where it differs, is known of the whole."""
_KEY_LASTS = timedelta(hours=12)
"""Longer than any check: what ends it is the end of the check, and this where all else fails."""


@dataclass(frozen=True, kw_only=True)
class Place:
    url: str
    model: str


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be asked of whom; a lost worker's answers stand."""

    prompts: Sequence[Prompt]
    answered: frozenset[int]
    candidate: Place
    current: Place


def answer_check_begin(*, lease: Lease) -> Order:
    """Return what is to be asked. Raises LeaseLost."""
    with lease_held(lease) as check:
        numbers = check.pairs.values_list("number", flat=True)
        return Order(
            prompts=check.prompts,
            answered=frozenset(numbers),
            candidate=_place(check.candidate_id),
            current=_place(check.current_id),
        )


def answer_check_key(*, lease: Lease) -> str:
    """Return the text of a key for this check alone. Raises LeaseLost."""
    model = AnswerCheck.objects.select_related("environment__model__team").get(id=lease.id)
    made = api_key_create(
        team=model.environment.model.team,
        type=ApiKeyType.WORKSPACE_INVOKE,
        name=f"answer guard {lease.id}",
        model_ids=[model.environment.model_id],
        limits=KeyLimits(expires_at=clock.now() + _KEY_LASTS),
        traffic_mark=ANSWERS,
    )
    leased = AnswerCheck.objects.filter(id=lease.id, lease_token=lease.token)
    if not leased.update(api_key=made.api_key):
        api_key_revoke(api_key=made.api_key)
        raise LeaseLost(lease.id)
    return made.text


def answer_pair_store(*, lease: Lease, pair: Pair) -> None:
    """Store what both said to one prompt. Raises LeaseLost."""
    row = AnswerPair(
        check_of_id=lease.id,
        number=pair.number,
        is_equal=pair.is_equal,
        differs_at=pair.differs_at,
        candidate=_stored(pair.candidate),
        current=_stored(pair.current),
    )
    with lease_held(lease):
        AnswerPair.objects.bulk_create([row], ignore_conflicts=True)


def answer_check_end(*, lease: Lease) -> bool:
    """Return whether it ended with what the answers come to; its key is revoked first."""
    keys_revoke([lease.id])
    check = AnswerCheck.objects.get(id=lease.id)
    rows = AnswerPair.objects.filter(check_of_id=lease.id).order_by("number")
    held_to = AnswerGuardSettings.of(check.settings)
    outcome = verdict(held_to, [_read(each) for each in rows], prompts=len(check.prompts))
    return _end(
        lease, AnswerCheckState.FINISHED, outcome=outcome.outcome, sentence=outcome.sentence
    )


def answer_check_stopped(*, lease: Lease) -> bool:
    keys_revoke([lease.id])
    return _end(lease, AnswerCheckState.CANCELLED)


def _end(lease: Lease, state: AnswerCheckState, **columns: Any) -> bool:
    return lease_end(lease=lease, state=state, finished_at=ClockTimestamp(), **columns)


def _place(deployment_id: str) -> Place:
    """Return where it is asked; one that is gone has an address that nothing answers."""
    deployment = Deployment.objects.filter(id=deployment_id).select_related("model").first()
    path = f"{deployment.model_id if deployment else 'none'}/deployment/{deployment_id}"
    return Place(
        url=f"{settings.GATEWAY_INTERNAL_URL}/m/{path}/sync{CHAT_ROUTE}",
        model=served_model_name(deployment) if deployment else "",
    )


def _stored(answer: Answer) -> dict[str, Any]:
    kept: dict[str, Any] = storable(asdict(answer) | {"text": answer.text[:KEPT_CHARACTERS]})
    return kept


def _read(row: AnswerPair) -> Pair:
    return Pair(
        number=row.number,
        candidate=Answer(**row.candidate),
        current=Answer(**row.current),
        differs_at=row.differs_at,
    )
