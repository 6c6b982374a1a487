"""The deployments of the stage, and the traffic of the one that serves."""

from datetime import timedelta

from apps.accounts.models import User
from apps.builds.models import Build
from apps.configs.models import CheckpointRecord
from apps.deployments.models import Deployment, EnvironmentSwitch, Replica
from apps.fleet.models import Device, Node
from controlplane import clock
from controlplane.domain.lifecycle import DeploymentState, ReplicaState
from tests import factories
from tests.browser.staged_checkpoints import SMOLLM

_GIB = 1024**3
_WEEKDAYS = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY"]
_EVERY_DAY = [*_WEEKDAYS, "SATURDAY", "SUNDAY"]
_SCHEDULES = {
    "timezone": "Europe/Berlin",
    "schedules": [
        {
            "id": "schedule1", "name": "Office hours", "enabled": False, "cadence": "DAILY",
            "weekdays": _WEEKDAYS, "start_hour": 8, "start_minute": 0, "end_hour": 18,
            "end_minute": 0, "autoscaling_settings": {"min_replica": 2, "max_replica": 6},
        },
        {
            "id": "schedule2", "name": "Never asleep", "enabled": True, "cadence": "DAILY",
            "weekdays": _EVERY_DAY, "start_hour": 0, "start_minute": 0, "end_hour": 0,
            "end_minute": 0, "autoscaling_settings": {"min_replica": 1, "max_replica": None},
        },
    ],
}  # fmt: skip


def serving_deployment(build: Build, node: Node, device: Device, owner: User) -> Deployment:
    """Return a deployment in production that answers, beside one that found no room."""
    model = factories.make_model(team=owner.team, name="smollm2")
    facts = CheckpointRecord.objects.filter(repo=SMOLLM).values_list("facts", flat=True)[0]
    deployment = factories.make_deployment(
        model=model, build=build, name="deployment-1", environment="production", checkpoint=facts
    )
    made_at = clock.now() - timedelta(days=4)
    Deployment.objects.filter(id=deployment.id).update(created_at=made_at)
    EnvironmentSwitch.objects.update(at=made_at)
    factories.make_environment(model=model, name="staging")
    model.environments.filter(name="production").update(autoscaling_schedules=_SCHEDULES)
    replica = factories.make_replica(
        deployment=deployment,
        node=node,
        memory_bytes=2 * _GIB,
        ready_at=clock.now() - timedelta(minutes=45),
        report={
            "dtype": "float32",
            "weights_bytes": 538_060_032,
            "kv_cache_bytes": 755_000_000,
            "kv_tokens": 16_384,
        },
        metrics={"requests_running": 2, "requests_waiting": 0, "kv_cache_used_ratio": 0.18},
    )
    factories.make_lease(device=device, holder=f"replica:{replica.id}", memory_bytes=2 * _GIB)
    factories.make_deployment(
        model=model,
        build=build,
        name="deployment-2",
        state=DeploymentState.DEPLOY_FAILED,
        failure={
            "code": "EHD-NO-ROOM",
            "blame": "machine",
            "sentence": "`workbench` has 5.2 GiB free and one replica needs 6.0 GiB.",
            "hint": "Deactivate another deployment, or add a machine.",
        },
    )
    factories.make_replica(
        deployment=deployment,
        node=node,
        state=ReplicaState.FAILED,
        ready_at=None,
        finished_at=clock.now() - timedelta(minutes=46),
        failure={
            "code": "EHD-GONE",
            "blame": "machine",
            "sentence": "Node `workbench` restarted.",
        },
    )
    Replica.objects.update(ordered_at=clock.now() - timedelta(minutes=52))
    return deployment
