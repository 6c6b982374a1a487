"""What a change asks of the database: more statements are a regression of the control loop."""

import pytest
from django.db import connection
from django.test import Client, TestCase
from django.test.utils import CaptureQueriesContext
from pydantic import ValidationError

from apps.accounts.keys.services import api_key_create, api_key_revoke
from apps.accounts.models import ApiKeyType, AuditEntry, RoutesChange, RoutesVersion
from apps.accounts.routes_version import (
    EVERYTHING,
    THE_VERSION,
    routes_version_bump,
    routes_version_current,
)
from apps.deployments.environments.promoting import environment_promote
from apps.deployments.models import Deployment, Environment, Replica
from apps.fleet.models import Gateway
from controlplane.compiled_update import insert_of, update_of
from controlplane.domain.lifecycle import DeploymentState
from controlplane.domain.wire.routes import FORMAT
from tests.factories import make_deployment, make_replica, make_team
from tests.factories_serving import make_gateway, make_serving_node, node_says
from tests.routes_named import named_after

WRITTEN = {"actor_kind": "system", "source": "worker", "action": "written.beside"}
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_a_replica_that_becomes_ready_takes_this_many() -> None:
    node = make_serving_node(name="a")
    served = make_deployment(state=DeploymentState.LOADING_MODEL)
    replica = make_replica(deployment=served, node=node, state="loading", ready_at=None)
    routes_version_bump(keys=["a"])  # the row is there, whatever test came before
    with CaptureQueriesContext(connection) as capture_queries_context:
        node_says(node, {replica.id: "ready"})
    assert Replica.objects.get().state == "ready"
    assert Deployment.objects.get().state == DeploymentState.ACTIVE
    assert_at_most(7, capture_queries_context)


def test_a_promotion_to_what_is_ready_takes_this_many() -> None:
    served = make_deployment(environment="production")
    make_replica(deployment=served)
    other = make_deployment(model=served.model)
    make_replica(deployment=other)
    Deployment.objects.update(marked_at=None)
    gateway = make_gateway(applied_version=0)
    routes_version_bump(keys=["a"])
    production = Environment.objects.get()
    with (
        CaptureQueriesContext(
            connection
        ) as capture_queries_context,  # what follows the commit counts
        TestCase.captureOnCommitCallbacks(execute=True),
    ):
        environment_promote(environment=production, deployment=other)
    production.refresh_from_db()
    assert (production.current, production.retiring) == (other, served)
    assert production.promotion_version == routes_version_current() > gateway.applied_version
    assert AuditEntry.objects.get(action="environment.promote").after == {"deployment": other.id}
    assert_at_most(7, capture_queries_context)


def test_a_revoked_key_takes_this_many() -> None:
    key = api_key_create(team=make_team(), type=ApiKeyType.WORKSPACE_INVOKE).api_key
    with CaptureQueriesContext(connection) as capture_queries_context:
        api_key_revoke(api_key=key)
    assert_at_most(2, capture_queries_context)


def test_a_poll_takes_one_statement_and_one_more_where_something_changed(client: Client) -> None:
    gateway = make_gateway(applied_version=0)
    routes_version_bump(keys=["a"])
    poll(client, gateway, after=0)  # the first one reads everything
    for is_changed in (False, True):
        before = routes_version_current()
        if is_changed:
            routes_version_bump(keys=["b"])
        with CaptureQueriesContext(connection) as capture_queries_context:
            status = poll(client, gateway, after=before)
        assert status == (200 if is_changed else 204)
        assert_at_most(1 + is_changed, capture_queries_context)


def poll(client: Client, gateway: Gateway, *, after: int) -> int:
    """Return the status of the answer."""
    body = {"after": after, "format": FORMAT, "applied": after}
    headers = {"Authorization": f"Bearer {gateway.name}"}
    return client.get("/internal/v1/routes", body, headers=headers).status_code


def test_what_a_node_says_holds_where_the_rest_of_the_deployment_cannot_be_done() -> None:
    node = make_serving_node(name="a")
    served = make_deployment(state=DeploymentState.LOADING_MODEL, wanted_replicas=2)
    replica = make_replica(deployment=served, node=node, state="loading", ready_at=None)
    Deployment.objects.update(spec={"of": "a later release"})
    with pytest.raises(ValidationError):
        node_says(node, {replica.id: "ready"})
    assert Replica.objects.get().state == "ready"
    assert Deployment.objects.get().state == DeploymentState.LOADING_MODEL


def assert_at_most(most: int, asked: CaptureQueriesContext) -> None:
    statements = [each for each in asked.captured_queries if "SAVEPOINT" not in (each["sql"] or "")]
    assert len(statements) <= most, "\n".join((each["sql"] or "?")[:90] for each in statements)


def test_a_named_change_takes_one_statement_and_is_known_by_the_next_version() -> None:
    before = routes_version_bump(keys=["a"])
    with CaptureQueriesContext(connection) as capture_queries_context:
        version = routes_version_bump(keys=["b"], models=["m", "m"])
    assert (len(capture_queries_context), version) == (1, before + 1)
    assert named_after(before) == {"keys": ["b"], "models": ["m"]}


def test_after_a_release_that_named_nothing_everything_may_have_changed() -> None:
    version = routes_version_bump(keys=["a"])
    RoutesVersion.objects.update(version=version + 1)  # as it did
    later = routes_version_bump(keys=["b"])
    assert later == version + 2
    assert RoutesChange.objects.get(kind=EVERYTHING).version == later
    assert named_after(version) is None
    assert named_after(later) == {}


@pytest.mark.parametrize("is_named", [True, False])
def test_what_is_written_beside_a_bump_is_written_once_with_its_version(is_named: bool) -> None:
    served = make_deployment(environment="production")
    version = routes_version_bump(keys=["a"])
    if not is_named:
        RoutesVersion.objects.update(version=version + 1)  # as the release before did
    place = Environment.objects.get()
    moved = update_of(Environment, {"promotion_version": THE_VERSION}, id=place.id)
    missed = update_of(Deployment, {"name": "wrong"}, id=served.id, state="failed")
    made = insert_of(AuditEntry(**WRITTEN))
    later = routes_version_bump(models=[served.model_id], beside=[moved, missed, made])
    place.refresh_from_db()
    assert AuditEntry.objects.filter(**WRITTEN).count() == 1
    assert place.promotion_version == later == routes_version_current()
    assert Deployment.objects.get().name == served.name


def test_what_is_written_beside_a_bump_that_names_nothing_is_written_too() -> None:
    make_deployment(environment="production")
    place = Environment.objects.get()
    moved = update_of(Environment, {"promotion_version": THE_VERSION}, id=place.id)
    later = routes_version_bump(beside=[moved, insert_of(AuditEntry(**WRITTEN))])
    place.refresh_from_db()
    assert AuditEntry.objects.filter(**WRITTEN).count() == 1
    assert place.promotion_version == later
