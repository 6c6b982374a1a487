"""Which request is next: fair between deployments, and by priority within one."""

import logging
from collections.abc import Collection, Mapping

from django.db.models import Count, Q

from apps.async_requests.leasing import ASYNC_REQUEST
from apps.async_requests.models import AsyncRequest
from apps.deployments.autoscaling.sizes import settings_of, sizes_of
from apps.deployments.models import Deployment
from apps.leases.lease import Lease
from apps.leases.services import lease_claim, leases_claimable
from controlplane.celery import ASYNC_QUEUE, PAYLOAD_FORMAT
from controlplane.domain.async_requests.states import AsyncStatus
from controlplane.hints import HintLost, hint_send

_TRIES = 8
_log = logging.getLogger(__name__)


def async_request_claim_next(*, owner: str = "") -> Lease | None:
    for _ in range(_TRIES):
        chosen = next_request()
        if chosen is None:
            return None
        if (lease := lease_claim(kind=ASYNC_REQUEST, id=chosen, owner=owner)) is not None:
            return lease
    return None


def queue_go_on() -> None:
    """Ask a worker to look for the next request."""
    arguments = {ASYNC_REQUEST.id_argument: "", "format": PAYLOAD_FORMAT}
    try:
        hint_send(ASYNC_REQUEST.task, queue=ASYNC_QUEUE, arguments=arguments)
    except HintLost as error:
        # The rows are the truth: the sweep sends for them once the broker answers.
        _log.warning("the queue's next request was not announced: %s", error)


def next_request() -> str | None:
    """Return the id of the request that is next, of the deployment that has the fewest begun."""
    waiting = leases_claimable(ASYNC_REQUEST).order_by()
    ids = list(waiting.values_list("deployment_id", flat=True).distinct())
    begun, most = _begun(ids), _most_at_once(ids)
    for id in sorted(ids, key=lambda each: (begun.get(each, 0), each)):
        if begun.get(id, 0) < most.get(id, 1):
            rows = waiting.filter(deployment_id=id).order_by("priority", "created_at", "id")
            request_id: str | None = rows.values_list("id", flat=True).first()
            return request_id
    return None


def _begun(ids: Collection[str]) -> Mapping[str, int]:
    rows = AsyncRequest.objects.filter(status=AsyncStatus.IN_PROGRESS, deployment_id__in=ids)
    counted = rows.values("deployment_id").annotate(count=Count("id")).order_by()
    return dict(counted.values_list("deployment_id", "count"))


def _most_at_once(ids: Collection[str]) -> Mapping[str, int]:
    """Return how many requests each takes at once: one that sleeps takes the one that wakes it."""
    rows = list(Deployment.objects.filter(Q(id__in=ids)).defer("spec", "checkpoint"))
    sizes = sizes_of(rows)
    return {
        each.id: max(1, sizes[each.id].ready) * max(1, settings_of(each).concurrency_target)
        if sizes[each.id].ready
        else 1
        for each in rows
    }
