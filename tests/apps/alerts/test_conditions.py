"""Each kind of alert fires for what it is about, and for nothing beside it."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest

from apps.accounts.models import ApiKey
from apps.alerts.budgets import budgets_measure
from apps.alerts.conditions.condition import Condition
from apps.alerts.conditions.finding import conditions_now
from apps.alerts.limits import limits_set
from apps.alerts.models import AlertLimits, Severity
from apps.builds.models import Build
from apps.builds.services.store_check import store_checked
from apps.deployments.models import Replica
from apps.fleet.models import DevicePrice, Node
from apps.secrets.models import Secret
from apps.telemetry.models import DeviceHour
from apps.telemetry.series.cells import Cells
from apps.telemetry.series.names import Source
from apps.telemetry.series.services import Batch, batches_add, series_fold
from apps.ui.formats import THIN_SPACE
from controlplane.clock import SYSTEM, now
from controlplane.domain.alert_kinds import AlertKindName
from controlplane.domain.failures.registry import artifacts
from tests.factories import (
    Cast,
    make_api_key,
    make_build,
    make_cast,
    make_deployment,
    make_device,
    make_lease,
    make_model,
    make_replica,
)
from tests.factories_serving import listened, make_serving_node
from tests.factories_traffic import make_requests

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def found() -> dict[str, Condition]:
    return {each.kind: each for each in conditions_now(SYSTEM).values()}


def _down(cast: Cast) -> None:
    make_deployment(model=make_model(team=cast.team), state="deploy_failed")


def _short(cast: Cast) -> None:
    make_deployment(
        model=make_model(team=cast.team), state="active", wanted_replicas=2, degraded_since=now()
    )


def _busy(cast: Cast, *, good: int = 38, failed: int = 2, first_seconds: float = 0.2) -> None:
    deployment = make_deployment(model=make_model(team=cast.team), state="active")
    make_requests(deployment, good, first_seconds=first_seconds)
    make_requests(deployment, failed, status=503, first_seconds=first_seconds)


def _slow(cast: Cast) -> None:
    limits_set(team=cast.team, error_share_percent=None, first_token_seconds=0.5)
    _busy(cast, first_seconds=0.6)


def _full_cache(cast: Cast) -> None:
    deployment = make_deployment(model=make_model(team=cast.team), state="active")
    make_replica(
        deployment=deployment, node=make_serving_node(name="gpu-1"),
        metrics={"kv_cache_used_ratio": 0.951, "requests_waiting": 4.0},
    )  # fmt: skip


def _full_device(cast: Cast) -> None:
    deployment, node = make_deployment(model=make_model(team=cast.team)), make_serving_node()
    replica = make_replica(deployment=deployment, node=node)
    gpu = make_device(node=node, kind="H100", memory_bytes=80 * 1024**3, used_bytes=79 * 1024**3)
    make_lease(device=gpu, holder=f"replica:{replica.id}")


def _slow_lookahead(
    cast: Cast, *, share: float = 0.05, seconds: float = 200, undrafted: float = 2000
) -> None:
    deployment = make_deployment(model=make_model(team=cast.team), state="active")
    deployment.spec = {"enginehouse": {"undrafted_share": share}}
    deployment.save(update_fields=["spec"])
    labels = {"team_id": cast.team.id, "deployment_id": deployment.id, "replica_id": "r"}
    engine = (cells := Cells()).at(Source.ENGINE, now().timestamp() - 600, labels)
    engine.count("drafted_answer_tokens", 2000)
    engine.count("drafted_answer_seconds", seconds)
    engine.count("undrafted_answer_tokens", undrafted)
    engine.count("undrafted_answer_seconds", undrafted / 20)
    batches_add([Batch(source=deployment.id, sequence=1, cells=cells)])
    series_fold()


def _spent_budget(cast: Cast, *, hours: float = 9) -> None:
    limits_set(team=cast.team, monthly_budget=Decimal(20))
    DevicePrice.objects.create(kind="H100", per_hour=2, since=now() - timedelta(days=40))
    DeviceHour.objects.create(
        hour=now().replace(minute=0, second=0, microsecond=0), team_id=cast.team.id, kind="H100",
        deployment_id="d", model_id="m", seconds=hours * 3600,
    )  # fmt: skip
    budgets_measure()


def _failed_build(cast: Cast) -> None:
    make_build(team=cast.team, state="failed", finished_at=now())


def _waiting_build(cast: Cast) -> None:
    build = make_build(team=cast.team)
    Build.objects.filter(id=build.id).update(created_at=now() - timedelta(minutes=6))


def _ending_secret(cast: Cast) -> None:
    Secret.objects.create(
        team=cast.team, name="t", nonce=b"", ciphertext=b"", expires_at=now() - timedelta(days=1)
    )


def _spent_key(cast: Cast) -> None:
    make_api_key(team=cast.team, monthly_spend=5)
    ApiKey.objects.update(spent_until=now() + timedelta(days=3))


def _silent_node(cast: Cast) -> None:
    make_serving_node(name="gpu-1")
    Node.objects.update(last_heartbeat_at=now() - timedelta(minutes=5))
    listened()


def _foreign_process(cast: Cast) -> None:
    node = make_serving_node(name="gpu-1")
    make_device(node=node, kind="H100", used_bytes=20 * 1024**3)


def _unusable_store(_cast: Cast) -> None:
    store_checked(artifacts.NO_BUCKET.failure(endpoint="s3", bucket="b", setting="set it"))


CASES: dict[AlertKindName, Callable[[Cast], None]] = {
    AlertKindName.DEPLOYMENT_DOWN: _down,
    AlertKindName.DEPLOYMENT_SHORT: _short,
    AlertKindName.ERROR_SHARE: lambda cast: _busy(cast, failed=3),
    AlertKindName.FIRST_TOKEN: _slow,
    AlertKindName.KV_CACHE_FULL: _full_cache,
    AlertKindName.GPU_MEMORY: _full_device,
    AlertKindName.LOOKAHEAD_HURTS: _slow_lookahead,
    AlertKindName.BUILD_FAILED: _failed_build,
    AlertKindName.BUILD_WAITING: _waiting_build,
    AlertKindName.SECRET_EXPIRY: _ending_secret,
    AlertKindName.SPEND_LIMIT: _spent_key,
    AlertKindName.BUDGET: _spent_budget,
    AlertKindName.NODE_SILENT: _silent_node,
    AlertKindName.DEVICE_MEMORY: _foreign_process,
    AlertKindName.ARTIFACT_STORE: _unusable_store,
}
IN_TEST_TROUBLES = {
    AlertKindName.DISK_FULL,
    AlertKindName.DATABASE_FULL,
    AlertKindName.CLOCK_APART,
}


def test_every_kind_has_a_case() -> None:
    assert {*CASES} | IN_TEST_TROUBLES == {*AlertKindName}


@pytest.mark.parametrize("kind", CASES)
def test_a_kind_fires_for_what_it_is_about(cast: Cast, kind: AlertKindName) -> None:
    assert found() == {}
    CASES[kind](cast)
    conditions = found()
    assert {*conditions} == {kind}
    assert conditions[kind].sentence[-1] in ".!"
    assert conditions[kind].path.startswith("/")


def test_an_error_share_at_its_limit_or_of_few_requests_is_none(cast: Cast) -> None:
    _busy(cast)
    _busy(cast, good=10, failed=9)
    assert found() == {}


def test_a_cache_that_is_full_and_keeps_nobody_waiting_is_none(cast: Cast) -> None:
    _full_cache(cast)
    Replica.objects.update(metrics={"kv_cache_used_ratio": 0.99, "requests_waiting": 0})
    assert found() == {}
    Replica.objects.update(metrics=None)
    assert found() == {}


def test_lookahead_that_is_seldom_compared_or_as_fast_or_compared_no_more_is_none(
    cast: Cast,
) -> None:
    _slow_lookahead(cast, undrafted=1900)
    _slow_lookahead(cast, seconds=105)
    _slow_lookahead(cast, share=0)
    assert found() == {}


def test_a_budget_is_told_of_when_it_is_near_and_worse_when_it_is_gone(cast: Cast) -> None:
    _spent_budget(cast, hours=7.9)
    assert found() == {}
    DeviceHour.objects.update(seconds=8 * 3600)
    budgets_measure()
    near = found()[AlertKindName.BUDGET]
    assert near.severity == Severity.WARNING
    assert "have cost 16.00" in near.sentence
    assert f"80{THIN_SPACE}% of it; the budget of a month is 20.00" in near.sentence
    DeviceHour.objects.update(seconds=10 * 3600)
    budgets_measure()
    assert found()[AlertKindName.BUDGET].severity == Severity.CRITICAL
    AlertLimits.objects.update(spent_month=now().date().replace(day=1) - timedelta(days=1))
    assert found() == {}  # a new month has begun


def test_a_failed_build_is_over_with_the_next_one_of_its_config(cast: Cast) -> None:
    _failed_build(cast)
    failed = Build.objects.get()
    make_build(team=cast.team, revision=failed.revision, number=failed.number + 1)
    assert found() == {}
