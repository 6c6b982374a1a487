"""Deployments follow what gateways say, each once, whoever else decides."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.deployments.autoscaling import deciding
from apps.deployments.autoscaling.deciding import autoscale, autoscale_round, decision_apply
from apps.deployments.autoscaling.history import decision_list, decisions_prune
from apps.deployments.autoscaling.models import ScalingDecision
from apps.deployments.autoscaling.signal import load_add
from apps.deployments.autoscaling.sizes import deployments_sized
from apps.deployments.models import Deployment
from apps.fleet.models import Gateway
from controlplane import clock
from controlplane.domain.scaling.decision import Decision, Memory, Signal
from controlplane.domain.scaling.reasons import Reason, ReasonCode
from tests.factories import make_deployment, make_replica
from tests.factories_serving import make_gateway
from tests.manual_clock import ManualClock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
_EAGER = {"concurrency_target": 10, "scale_down_delay": 30, "autoscaling_window": 10}


@pytest.fixture
def time() -> ManualClock:
    return ManualClock(clock.now())


@pytest.fixture
def gateway() -> Gateway:
    return make_gateway()


@pytest.fixture
def deployment() -> Deployment:
    made = make_deployment(max_replica=4, state="active", autoscaling=_EAGER)
    made.refresh_from_db()
    make_replica(deployment=made, ready_at=clock.now() - timedelta(hours=1))
    return made


def _said(time: ManualClock, gateway: Gateway, deployment: Deployment, requests: float) -> None:
    time.advance(5)
    Gateway.objects.update(last_seen_at=time.now())
    loads = {deployment.id: {"requests": requests, "tokens": 0, "held": 0}} if requests else {}
    sequence = int(time.now().timestamp() * 1000)
    load_add(gateway=gateway, sequence=sequence, seconds=5, loads=loads, clock=time)


def _wanted(deployment: Deployment) -> int:
    return Deployment.objects.get(id=deployment.id).wanted_replicas


def test_a_deployment_grows_with_its_load_and_the_history_says_why(
    time: ManualClock, gateway: Gateway, deployment: Deployment
) -> None:
    _said(time, gateway, deployment, 16)
    assert autoscale(clock=time) == 1
    assert autoscale(clock=time) == 0
    decision = decision_list(deployment=deployment).get()
    assert (decision.before, decision.after, decision.by_load) == (1, 3, 3)
    assert decision.code == "load_rose"
    assert decision.sentence == "16 requests in flight over 10 s: 3 replicas for 7 each."
    assert Deployment.objects.get(id=deployment.id).marked_at is not None, "it is reconciled"


def test_it_shrinks_to_nothing_step_by_step_and_gateways_are_told(
    time: ManualClock, gateway: Gateway, deployment: Deployment
) -> None:
    Deployment.objects.update(wanted_replicas=4)
    sizes = []
    for _ in range(24):
        _said(time, gateway, deployment, 0)
        autoscale(clock=time)
        sizes.append(_wanted(deployment))
    assert list(dict.fromkeys(sizes)) == [4, 2, 1, 0]
    assert ScalingDecision.objects.order_by("-at")[0].code == "sleeps"
    assert {each.sentence for each in ScalingDecision.objects.all()} == {
        "No request was in flight for 10 s."
    }


def test_a_signal_that_is_lost_holds_the_size_and_is_in_the_history_once(
    time: ManualClock, gateway: Gateway, deployment: Deployment
) -> None:
    Deployment.objects.update(wanted_replicas=4)
    _said(time, gateway, deployment, 0)
    autoscale(clock=time)
    for _ in range(4):
        time.advance(60)
        Gateway.objects.update(last_seen_at=time.now())
        assert autoscale(clock=time) == 0
    decision = decision_list(deployment=deployment).get()
    assert (decision.code, decision.before, decision.after) == ("signal_missing", 4, 4)
    assert f"`{gateway.name}` has not said" in decision.sentence


def test_of_two_that_decide_at_once_one_changes_the_size(
    time: ManualClock, deployment: Deployment
) -> None:
    read_by_both = [deployments_sized()[0] for _ in range(2)]
    reason = Reason(code=ReasonCode.LOAD_ROSE, sentence="It rose.")
    for row, target in zip(read_by_both, (3, 4), strict=True):
        decision = Decision(wanted=target, reason=reason, by_load=target, memory=Memory())
        decision_apply(deployment=row, decision=decision, signal=Signal(), now=time.now())
    assert _wanted(deployment) == 3
    assert decision_list(deployment=deployment).count() == 1


def test_a_decision_by_settings_that_were_changed_meanwhile_is_dropped(
    time: ManualClock, deployment: Deployment
) -> None:
    row = deployments_sized()[0]
    Deployment.objects.update(max_replica=2)
    reason = Reason(code=ReasonCode.LOAD_ROSE, sentence="It rose.")
    decision = Decision(wanted=4, reason=reason, by_load=4, memory=Memory())
    assert not decision_apply(deployment=row, decision=decision, signal=Signal(), now=time.now())


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "inactive"}, {"state": "loading_model"}, {"state": "deploy_failed"},
        {"min_replica": 1, "max_replica": 1},
    ],
    ids=lambda each: next(iter(each.values())),
)  # fmt: skip
def test_what_is_not_sized_by_load_is_left_alone(
    time: ManualClock, gateway: Gateway, deployment: Deployment, changes: dict[str, object]
) -> None:
    Deployment.objects.update(**changes)
    _said(time, gateway, deployment, 100)
    assert autoscale_round(now=time.now()) == 0


def test_one_that_cannot_be_sized_does_not_keep_others_from_it(
    time: ManualClock, gateway: Gateway, deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = make_deployment(state="active", max_replica=4)
    apply = deciding.decision_apply

    def fail(*, deployment: Deployment, **told: object) -> bool:
        if deployment.id == broken.id:
            raise RuntimeError("broken")
        return apply(deployment=deployment, **told)

    monkeypatch.setattr(deciding, "decision_apply", fail)
    _said(time, gateway, deployment, 16)
    assert autoscale(clock=time) == 1


def test_a_round_asks_as_little_of_the_database_for_many_as_for_one(
    time: ManualClock, gateway: Gateway, deployment: Deployment
) -> None:
    _said(time, gateway, deployment, 1)
    autoscale(clock=time)
    counts = []
    for more in (0, 6):
        for _ in range(more):
            made = make_deployment(state="active", max_replica=4, autoscaling=_EAGER)
            make_replica(deployment=made)
        autoscale(clock=time)
        with CaptureQueriesContext(connection) as capture_queries_context:
            autoscale_round(now=time.now())
        counts.append(len(capture_queries_context.captured_queries))
    assert counts[0] == counts[1] <= 8


def test_decisions_are_kept_for_a_month(time: ManualClock, deployment: Deployment) -> None:
    ScalingDecision.objects.create(
        deployment=deployment, at=time.now(), code="woken", sentence="", before=0, after=1,
        by_load=0, requests=0, tokens=0,
    )  # fmt: skip
    time.advance(30 * 24 * 3600)
    assert decisions_prune(clock=time) == 0
    time.advance(1)
    assert decisions_prune(clock=time) == 1
