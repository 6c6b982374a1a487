"""Tasks of asynchronous requests: ask what is next, deliver outcomes, and find what was lost."""

import asyncio
import logging
from typing import Any

from celery import shared_task
from django.conf import settings

from apps.async_requests.leasing import ASYNC_REQUEST, KEY
from apps.async_requests.services.carrying import (
    Call,
    async_request_begin,
    async_request_finish,
    async_request_stopped,
)
from apps.async_requests.services.choosing import async_request_claim_next, queue_go_on
from apps.async_requests.webhooks.leasing import ASYNC_WEBHOOK
from apps.async_requests.webhooks.sending import (
    ToSend,
    webhook_finish,
    webhook_to_send,
)
from apps.leases.lease import Lease
from apps.leases.sweeping import leases_sweep
from controlplane.domain.async_requests.answers import Attempt, Next, waiting
from controlplane.domain.async_requests.states import ErrorCode
from controlplane.domain.async_requests.webhooks import (
    RETRIED,
    SECRETS,
    webhook_body,
    webhook_headers,
)
from controlplane.domain.notifications import Outcome
from workers.async_calls.asking import GatewayCall, ask_gateway
from workers.notifications.posting import post
from workers.tasks.leasing import (
    LeaseKeeper,
    Unredeemed,
    claimed,
    claimed_one,
    kept,
    redeem_secrets,
    retry_on_db_error,
    watched,
)
from workers.tasks.ticks import tick

_log = logging.getLogger(__name__)
_LOOK_SECONDS = 0.5
_GONE = Attempt(
    next=Next.END,
    code=ErrorCode.PREDICT_ERROR,
    message="The API key that sent this request was revoked before the model was asked.",
)


@tick("async_requests.sweep")
def sweep() -> None:
    leases_sweep(ASYNC_REQUEST)
    leases_sweep(ASYNC_WEBHOOK)


@shared_task(name="async_requests.run")
def run(async_request_id: str = "", **newer: Any) -> None:
    """Ask a model what is next; the message says that something waits, not what."""
    if (lease := claimed(lambda owner: async_request_claim_next(owner=owner))) is None:
        return
    has_room = False
    with kept(lease, cancelled=_stopped) as keeper:
        has_room = _ask_and_store(keeper)
    if has_room:
        # Messages that came while it had no room for them are gone.
        queue_go_on()


@shared_task(name="async_requests.deliver")
def deliver(async_webhook_id: str, **newer: Any) -> None:
    if (lease := claimed_one(ASYNC_WEBHOOK, async_webhook_id)) is not None:
        with kept(lease) as keeper:
            webhook = retry_on_db_error(keeper, lambda: webhook_to_send(webhook_id=lease.id))
            outcome = _delivered(keeper, webhook)
            retry_on_db_error(keeper, lambda: webhook_finish(lease=lease, outcome=outcome))


def _ask_and_store(keeper: LeaseKeeper) -> bool:
    """Return whether the model may take another at once; a full one is left to the sweep."""
    call = retry_on_db_error(keeper, lambda: async_request_begin(lease=keeper.lease))
    attempt = _attempt(keeper, call) if call.key_sha256 else _GONE
    stored = retry_on_db_error(
        keeper, lambda: async_request_finish(lease=keeper.lease, attempt=attempt)
    )
    if not stored:
        _log.warning("%s was taken over; this outcome is dropped", keeper.lease.marker)
    return attempt.next is not Next.WAIT


def _attempt(keeper: LeaseKeeper, call: Call) -> Attempt:
    try:
        key = redeem_secrets(keeper)[KEY]
    except Unredeemed as error:
        return waiting(f"The control plane gave out no key to ask by: {error}")
    gateway_call = GatewayCall(url=call.url, body=call.body, key=key, on_behalf_of=call.key_sha256)
    return asyncio.run(watched(keeper, ask_gateway(gateway_call)))


def _stopped(*, lease: Lease) -> None:
    async_request_stopped(lease=lease)
    queue_go_on()


def _delivered(keeper: LeaseKeeper, webhook: ToSend) -> Outcome:
    try:
        values = redeem_secrets(keeper)
    except Unredeemed as error:
        hint = error.failure.hint or "" if error.failure is not None else ""
        return Outcome(sentence=f"The signing secret could not be had ({error}).", hint=hint)
    body = webhook_body(webhook.completed)
    signing = [values[name] for name in SECRETS if name in values]
    headers = webhook_headers(webhook.completed.request_id, body, signing)
    try:
        return post(
            webhook.endpoint, body=body, headers=headers,
            allow_private=settings.ALLOW_PRIVATE_ADDRESSES, retried=RETRIED,
        )  # fmt: skip
    except Exception as error:
        # Whatever a stranger answers must not leave it waiting. No traceback: it may quote a value.
        _log.error("the webhook of %s was not sent: %s", keeper.lease.id, type(error).__name__)
        return Outcome(sentence=f"Sending broke off ({type(error).__name__}).")
