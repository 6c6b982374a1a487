"""What Prometheus reads of asynchronous requests and webhooks."""

from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from apps.accounts.models import Team
from apps.async_requests.models import AsyncRequest
from apps.deployments.metrics.page import metrics_page
from controlplane.clock import now
from tests.factories import make_deployment
from tests.factories_async import make_async_request, make_async_webhook


def told(team: Team) -> dict[tuple[str, str], float]:
    """Return the samples by name and what tells them apart beside the deployment."""
    return {
        (
            sample.name,
            sample.labels.get("status") or sample.labels.get("outcome") or "",
        ): sample.value
        for family in text_string_to_metric_families(metrics_page(team=team).decode())
        for sample in family.samples
        if "async" in sample.name or "webhook" in sample.name
    }


@pytest.mark.django_db
def test_what_waits_is_told_with_its_age_and_what_ended_lately_by_how_it_went() -> None:
    deployment = make_deployment()
    waits, _ = (make_async_request(deployment=deployment) for _ in range(2))
    AsyncRequest.objects.filter(id=waits.id).update(created_at=now() - timedelta(seconds=90))
    make_async_request(deployment=deployment, status="IN_PROGRESS")
    for minutes in (1, 11):
        ended = now() - timedelta(minutes=minutes)
        make_async_request(deployment=deployment, status="EXPIRED", finished_at=ended)
    make_async_request()
    make_async_webhook(deployment=deployment, attempts=3)
    make_async_webhook(deployment=deployment, state="failed", attempts=5, finished_at=now())
    make_async_webhook(deployment=deployment, state="finished", attempts=1, finished_at=now())
    make_async_webhook()

    outcome = told(deployment.model.team)

    assert outcome["enginehouse_async_requests_waiting", ""] == 2
    assert outcome["enginehouse_async_requests_under_way", ""] == 1
    assert 90 <= outcome["enginehouse_async_oldest_waiting_seconds", ""] < 600
    assert outcome["enginehouse_async_requests_ended_lately", "EXPIRED"] == 1
    assert outcome["enginehouse_async_requests_ended_lately", "SUCCEEDED"] == 3
    assert outcome["enginehouse_webhooks_waiting", ""] == 1
    assert outcome["enginehouse_webhooks_ended_lately", "delivered"] == 1
    assert outcome["enginehouse_webhooks_ended_lately", "failed"] == 1
    assert outcome["enginehouse_webhooks_retries", ""] == 6


@pytest.mark.django_db
def test_a_team_without_any_is_told_that_nothing_waits() -> None:
    outcome = told(make_deployment().model.team)
    assert set(outcome.values()) == {0}
    assert ("enginehouse_async_oldest_waiting_seconds", "") in outcome
