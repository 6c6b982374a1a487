"""What a change asks of the database: more statements are a regression of the control loop."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import RoutesChange, RoutesVersion
from apps.accounts.routes_version import EVERYTHING, routes_changes_after, routes_version_bump
from apps.deployments.models import Deployment, Replica
from controlplane.domain.lifecycle import DeploymentState
from tests.factories import make_deployment, make_replica
from tests.factories_serving import make_serving_node, node_says

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_a_replica_that_becomes_ready_takes_this_many() -> None:
    node = make_serving_node(name="a")
    served = make_deployment(state=DeploymentState.LOADING_MODEL)
    replica = make_replica(deployment=served, node=node, state="loading", ready_at=None)
    routes_version_bump(keys=["a"])  # the row is there, whatever test came before
    with CaptureQueriesContext(connection) as asked:
        node_says(node, {replica.id: "ready"})
    statements = [each for each in asked.captured_queries if "SAVEPOINT" not in each["sql"]]
    assert Replica.objects.get().state == "ready"
    assert Deployment.objects.get().state == DeploymentState.ACTIVE
    assert len(statements) <= 15, "\n".join(each["sql"][:90] for each in statements)


def test_a_named_change_takes_one_statement_and_is_known_by_the_next_version() -> None:
    before = routes_version_bump(keys=["a"])
    with CaptureQueriesContext(connection) as asked:
        version = routes_version_bump(keys=["b"], models=["m", "m"])
    assert (len(asked), version) == (1, before + 1)
    assert routes_changes_after(before) == {"keys": ["b"], "models": ["m"]}


def test_after_a_release_that_named_nothing_everything_may_have_changed() -> None:
    version = routes_version_bump(keys=["a"])
    RoutesVersion.objects.update(version=version + 1)  # as it did
    later = routes_version_bump(keys=["b"])
    assert later == version + 2
    assert RoutesChange.objects.get(kind=EVERYTHING).version == later
    assert routes_changes_after(version) is None
    assert routes_changes_after(later) == {}
