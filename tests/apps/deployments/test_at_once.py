"""Sweeps, nodes and people at the same time: nobody waits for another for ever."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection

from apps.deployments.environments.promoting import environment_promote
from apps.deployments.models import Deployment, Replica
from apps.deployments.served_models.services import model_create
from apps.deployments.services.deployments import (
    deployment_activate,
    deployment_create,
    deployment_deactivate,
)
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import DeviceLease
from apps.rest.errors import Conflict
from controlplane.domain.lifecycle import REPLICA_TERMINAL
from tests.factories import make_team
from tests.factories_serving import make_servable_build, make_serving_node, node_says

pytestmark = [
    pytest.mark.recovery,
    pytest.mark.django_db(transaction=True),
]
ROUNDS = 12


def test_no_deadlock_and_no_lost_device(broker: str) -> None:
    team, node = make_team(), make_serving_node()
    model, first = model_create(team=team, name="m", build=make_servable_build(team=team))
    second = deployment_create(model=model, build=make_servable_build(team=team))
    production = model.environments.get(name="production")
    failures: list[BaseException] = []

    def talk() -> None:
        states = {"stopped": "stopped", "running": "ready"}
        live = Replica.objects.exclude(state__in=REPLICA_TERMINAL)
        node_says(node, {each.id: states[each.wanted] for each in live})

    def promote() -> None:
        for deployment in (second, first):
            try:
                environment_promote(environment=production, deployment=deployment)
            except Conflict:
                continue

    def switch() -> None:
        try:
            deployment_deactivate(deployment=second)
            deployment_activate(deployment=second)
        except Conflict:
            return

    def repeat(act: Callable[[], object]) -> None:
        try:
            for _ in range(ROUNDS):
                act()
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    acts = (deployments_sweep, deployments_sweep, talk, promote, switch)
    threads = [threading.Thread(target=repeat, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    live = Replica.objects.exclude(state__in=REPLICA_TERMINAL)
    rows = DeviceLease.objects.filter(released_at=None)
    assert {lease.holder for lease in rows} == {each.device_holder for each in live}
    assert Deployment.objects.count() >= 2
