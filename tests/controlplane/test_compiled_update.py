"""An update and an insert that are compiled once store what a queryset would store."""

import pytest
from django.db.models import Model
from django.db.models.functions import Now

from apps.accounts.models import AuditEntry
from apps.deployments.models import Deployment, Environment, Replica
from controlplane.compiled_update import row_insert, rows_update
from controlplane.domain.lifecycle import DeploymentState, ReplicaState
from tests.factories import make_deployment, make_replica
from tests.manual_clock import ManualClock

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (Replica, {"state": ReplicaState.FAILED, "finished_at": ManualClock().now(),
                   "failure": {"sentence": "50 % of it; 'so' and \"so\""}}),
        (Replica, {"failure": None, "port": 70, "ready_at": None}),
        (Deployment, {"last_failure": None, "state": DeploymentState.ACTIVE}),
        (Deployment, {"degraded_since": Now(), "autoscaling": {"a": [1, None]}}),
        (Environment, {"candidate_id": None, "promotion": None, "promotion_version": 2**40}),
    ],
)  # fmt: skip
def test_an_update_stores_what_a_queryset_stores(
    model: type[Model], changes: dict[str, object]
) -> None:
    by_queryset, compiled, other = (_made(model) for _ in range(3))
    manager = model._default_manager
    names = [name for name, value in changes.items() if not isinstance(value, Now)]
    untouched = manager.values(*names).get(pk=other.pk)
    assert manager.filter(pk=by_queryset.pk).update(**changes) == 1
    assert rows_update(model, changes, id=compiled.pk) == 1
    stored = manager.values(*names)
    assert stored.get(pk=compiled.pk) == stored.get(pk=by_queryset.pk)
    assert stored.get(pk=other.pk) == untouched
    for name, value in changes.items():
        # None is no JSON null: it is found as what is not there.
        is_there = manager.filter(pk=compiled.pk, **{f"{name}__isnull": True}).exists()
        assert is_there == (value is None)


def test_only_a_row_that_is_as_it_is_said_to_be_is_changed() -> None:
    replica = make_replica(state="ready", ready_at=None)
    changes = {"state": "draining"}
    assert rows_update(Replica, changes, id=replica.id, state="loading") == 0
    assert rows_update(Replica, changes, id=replica.id, state="ready", draining_since=None) == 1
    assert Replica.objects.get().state == "draining"


def test_an_insert_stores_what_a_queryset_stores() -> None:
    values = {"actor_kind": "person", "actor_label": "a@b", "source": "page", "action": "a.b"}
    row = AuditEntry(**values, before=None, after={"a": None})
    row_insert(row)
    other = AuditEntry.objects.create(**values, before=None, after={"a": None})
    mine, theirs = AuditEntry.objects.values().order_by("id")
    assert (mine.pop("id"), theirs.pop("id")) == (row.id, other.id)
    assert mine.pop("at") <= theirs.pop("at")
    assert mine == theirs
    assert AuditEntry.objects.filter(before__isnull=True).count() == 2


def _made(model: type[Model]) -> Model:
    replica = make_replica(deployment=make_deployment(environment="production"))
    made = {Replica: replica, Deployment: replica.deployment}
    return made.get(model) or Environment.objects.get(current=replica.deployment)
