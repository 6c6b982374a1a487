"""What waits of a team's asynchronous requests and webhooks, and how those went that ended lately.

Rows go when their time is over, so nothing here is summed up from the beginning: what ended is told
of the last minutes.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Count, F, Min, Q, Sum

from apps.accounts.models import Team
from apps.async_requests.models import AsyncRequest, AsyncWebhook
from apps.deployments.metrics.shown import Shown
from controlplane import clock
from controlplane.domain.async_requests.states import OPEN, AsyncStatus
from controlplane.domain.lifecycle import StepState
from controlplane.domain.wire.exposition import Page, sample

LATELY = timedelta(minutes=10)
_WAITING = (StepState.WAITING, StepState.RUNNING)


def add_async_requests(page: Page, team: Team, shown: Mapping[str, Shown]) -> None:
    since = clock.now() - LATELY
    _add_queues(page, team, shown)
    _add_ended(page, team, shown, since)
    _add_webhooks(page, team, shown, since)


def _add_queues(page: Page, team: Team, shown: Mapping[str, Shown]) -> None:
    rows = AsyncRequest.objects.filter(team=team, status__in=OPEN).values("deployment_id").annotate(
        queued=Count("id", filter=Q(status=AsyncStatus.QUEUED)),
        under_way=Count("id", filter=Q(status=AsyncStatus.IN_PROGRESS)),
        oldest=Min("created_at", filter=Q(status=AsyncStatus.QUEUED)),
    )  # fmt: skip
    known: dict[str, Any] = {row["deployment_id"]: row for row in rows}
    labelled: list[tuple[str, Any]] = [
        (each.labels(), known.get(id, {})) for id, each in shown.items()
    ]
    for name, column, words in (
        ("enginehouse_async_requests_waiting", "queued", "Asynchronous requests that wait."),
        ("enginehouse_async_requests_under_way", "under_way", "Those that a model is asked."),
    ):
        lines = [sample(name, labels, row.get(column, 0)) for labels, row in labelled]
        page.add(name, "gauge", words, lines)
    name, now = "enginehouse_async_oldest_waiting_seconds", clock.now()
    ages = [
        sample(name, labels, (now - row["oldest"]).total_seconds() if row.get("oldest") else 0)
        for labels, row in labelled
    ]
    page.add(name, "gauge", "How long the one has waited that came first.", ages)


def _add_ended(page: Page, team: Team, shown: Mapping[str, Shown], since: Any) -> None:
    rows = AsyncRequest.objects.filter(team=team, finished_at__gte=since)
    counted = rows.values_list("deployment_id", "status").annotate(many=Count("id"))
    name = "enginehouse_async_requests_ended_lately"
    lines = [
        sample(name, f'{shown[id].labels()},status="{status}"', many)
        for id, status, many in sorted(counted)
        if id in shown
    ]
    page.add(name, "gauge", "Asynchronous requests that ended in ten minutes.", lines)


def _add_webhooks(page: Page, team: Team, shown: Mapping[str, Shown], since: Any) -> None:
    lately, waits = Q(finished_at__gte=since), Q(state__in=_WAITING)
    rows = AsyncWebhook.objects.filter(waits | lately, request__team=team)
    counted: Any = rows.values(deployment=F("request__deployment_id")).annotate(
        waiting=Count("id", filter=waits),
        oldest=Min("created_at", filter=waits),
        delivered=Count("id", filter=lately & Q(state=StepState.FINISHED)),
        failed=Count("id", filter=lately & Q(state=StepState.FAILED)),
        retries=Sum(F("attempts") - 1, filter=Q(attempts__gt=1), default=0),
    )
    labelled = [
        (shown[row["deployment"]].labels(), row) for row in counted if row["deployment"] in shown
    ]
    for name, column, words in (
        ("enginehouse_webhooks_waiting", "waiting", "Webhooks to be sent."),
        ("enginehouse_webhooks_retries", "retries",
         "Attempts beyond the first, of those that wait or ended in ten minutes."),
    ):  # fmt: skip
        page.add(name, "gauge", words, [sample(name, at, row[column]) for at, row in labelled])
    name, now = "enginehouse_webhooks_oldest_waiting_seconds", clock.now()
    ages = [
        sample(name, at, (now - row["oldest"]).total_seconds() if row["oldest"] else 0)
        for at, row in labelled
    ]
    page.add(name, "gauge", "How long the first of them has waited.", ages)
    name = "enginehouse_webhooks_ended_lately"
    ended = [
        sample(name, f'{at},outcome="{outcome}"', row[outcome])
        for at, row in labelled
        for outcome in ("delivered", "failed")
    ]
    page.add(name, "gauge", "Webhooks that ended in ten minutes.", ended)
