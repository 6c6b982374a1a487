"""What engines, GPUs, replicas and gateways said last goes into series, once."""

from datetime import timedelta
from typing import Any

import pytest

from apps.deployments.metrics.sampling import series_sample
from apps.deployments.models import Replica
from apps.fleet.models import DevicePrice, Node
from apps.telemetry.models import SeriesDelta, SeriesSource
from apps.telemetry.series.names import LABELS, Source, slots_of
from controlplane import clock
from tests.factories import make_deployment, make_device, make_gateway, make_lease, make_replica

pytestmark = pytest.mark.django_db
NOW = clock.now()


@pytest.fixture
def replica() -> Replica:
    """A replica that serves and has just said how it stands."""
    outcome = make_replica(deployment=make_deployment(wanted_replicas=2), state="ready")
    say(outcome, seconds_ago=20, draft_tokens_total=100, requests_running=3)
    return outcome


def say(replica: Replica, *, seconds_ago: float, **values: float) -> None:
    """Have the replica's node tell these values of it."""
    notices = NOW - timedelta(seconds=seconds_ago)
    Replica.objects.filter(id=replica.id).update(metrics=values, observed_at=notices)
    Node.objects.filter(id=replica.node_id).update(
        replicas_heard_at=notices, last_heartbeat_at=clock.now()
    )


def sampled(source: Source, name: str, **labels: str) -> list[float]:
    """Return what each delta of these labels has of a series, in the order in which they came."""
    slot = slots_of(source)[name].sums
    rows = [row for row in SeriesDelta.objects.filter(source=source).order_by("id")
            if labels.items() <= dict(zip(LABELS, row.labels, strict=True)).items()]  # fmt: skip
    return [row.sums[slot + 1] if name in GAUGES else row.sums[slot] for row in rows]


GAUGES = ("requests_running", "replicas_wanted", "replicas_ready", "replicas_starting",
          "gateways_live", "device_power_watts", "device_utilization_ratio")  # fmt: skip


def test_an_engines_counters_tell_what_they_grew_by_and_begin_anew_with_it(
    replica: Replica,
) -> None:
    for ago, drafts in ((20, 100), (10, 130), (0, 7)):
        say(replica, seconds_ago=ago, draft_tokens_total=drafts, requests_running=3)
        series_sample(now=NOW - timedelta(seconds=ago))
        series_sample(now=NOW - timedelta(seconds=ago))  # and what is known counts no second time
    assert sampled(Source.ENGINE, "draft_tokens") == [None, 30, 7]
    assert sampled(Source.ENGINE, "requests_running", replica_id=replica.id) == [3, 3, 3]


def test_a_host_with_another_clock_is_counted_by_ours_and_its_skew_is_kept(
    replica: Replica,
) -> None:
    Node.objects.update(clock_ahead_seconds=5000)
    series_sample(now=NOW)
    delta = SeriesDelta.objects.get(source=Source.ENGINE)
    assert abs((delta.at - NOW).total_seconds()) <= 30
    assert SeriesSource.objects.get(name__startswith="replica:").clock_ahead_seconds == 5000


def test_replicas_are_counted_by_state_beside_what_is_wanted(replica: Replica) -> None:
    make_replica(deployment=replica.deployment, state="loading")
    make_gateway(last_seen_at=clock.now())
    series_sample(now=NOW)
    of_it = {"deployment_id": replica.deployment_id}
    names = ("replicas_wanted", "replicas_ready", "replicas_starting")
    assert [sampled(Source.CONTROL_PLANE, each, **of_it) for each in names] == [[2], [1], [1]]
    assert sampled(Source.CONTROL_PLANE, "gateways_live", deployment_id="") == [1]


def test_a_gpu_tells_for_the_replica_that_holds_it_and_what_that_costs(replica: Replica) -> None:
    device: Any = make_device(
        node=replica.node, kind="H100", utilization_percent=50.0, power_watts=400.0
    )
    make_lease(device=device, holder=f"replica:{replica.id}")
    DevicePrice.objects.create(kind="H100", per_hour=36, since=NOW - timedelta(hours=2))
    series_sample(now=NOW - timedelta(seconds=10))
    series_sample(now=NOW)
    of_it = {"deployment_id": replica.deployment_id, "device_id": device.id}
    assert sampled(Source.DEVICE, "device_power_watts", **of_it) == [400, 400]
    assert sampled(Source.DEVICE, "device_utilization_ratio", **of_it) == [0.5, 0.5]
    holders = {"deployment_id": replica.deployment_id}
    assert sampled(Source.CONTROL_PLANE, "device_seconds", **holders) == [0, 10]
    assert sampled(Source.CONTROL_PLANE, "cost", **holders) == [0, pytest.approx(0.1)]
