"""A gateway that is told changes knows what one that is told everything knows."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from apps.accounts.keys.services import api_key_create, api_key_revoke
from apps.accounts.models import ApiKey, ApiKeyType, RoutesChange, RoutesVersion
from apps.accounts.routes_version import (
    CHANGES_KEPT,
    routes_changes_prune,
    routes_version_bump,
    routes_version_current,
)
from apps.deployments.environments.promoting import environment_promote
from apps.deployments.environments.rolling.commands import promotion_cancel
from apps.deployments.environments.services import (
    environment_create,
    environment_delete,
)
from apps.deployments.models import Deployment, Environment, Replica, ServedModel
from apps.deployments.served_models.services import model_create, model_delete
from apps.deployments.services.deleting import deployment_delete
from apps.deployments.services.deployments import (
    deployment_activate,
    deployment_create,
    deployment_deactivate,
    deployment_rename,
)
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import Node
from apps.rest.errors import ApiError
from apps.routes.book import KEPT_SECONDS, RoutesBook
from controlplane import clock
from controlplane.domain.lifecycle import REPLICA_TERMINAL
from tests.apps.routes.follower import Follower, whole
from tests.factories import make_deployment, make_replica, make_team
from tests.factories_serving import (
    GIB,
    make_gateway,
    make_servable_build,
    make_serving_node,
    node_says,
)
from tests.manual_clock import ManualClock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_what_is_told_at_the_start_is_everything(follower: Follower) -> None:
    assert follower.told is not None
    assert follower.told["after"] is None
    assert follower.poll() is None


def test_a_revoked_key_is_told_as_one_removed_row(follower: Follower) -> None:
    key = ApiKey.objects.get()
    api_key_revoke(api_key=key)
    report = follower.poll()
    assert report is not None
    assert report["after"] == report["version"] - 1
    assert report["keys"] == {key.secret_sha256: None}
    assert (report["models"], report["deployments"], report["replicas"]) == ({}, {}, {})


def test_a_change_that_names_nothing_is_told_as_everything(follower: Follower) -> None:
    deployment = make_deployment(environment="production")
    with transaction.atomic():
        routes_version_bump()
    report = follower.poll()
    assert report is not None
    assert report["after"] is None
    assert deployment.id in report["deployments"]


def test_a_version_that_an_earlier_release_made_is_told_as_everything(follower: Follower) -> None:
    RoutesVersion.objects.update(version=routes_version_current() + 1)
    assert (follower.poll() or {})["after"] is None
    with transaction.atomic():
        routes_version_bump(models=["x"])
    assert (follower.poll() or {})["after"] is None, "what that one changed is not known"
    with transaction.atomic():
        routes_version_bump(models=["x"])
    assert (follower.poll() or {})["after"] is not None


def test_who_is_too_far_behind_is_told_everything(follower: Follower) -> None:
    api_key_revoke(api_key=ApiKey.objects.get())
    last = routes_version_current() + CHANGES_KEPT
    RoutesVersion.objects.update(version=last, named_version=last)
    assert routes_changes_prune() == 1
    assert (follower.poll() or {})["after"] is None
    assert RoutesChange.objects.filter(kind="all").exists()


def test_who_is_ahead_of_a_restored_database_is_told_everything(follower: Follower) -> None:
    RoutesVersion.objects.update(version=0, named_version=0)
    assert (follower.poll() or {})["after"] is None


def test_a_gateway_with_another_table_of_the_same_version_is_told_everything(
    follower: Follower,
) -> None:
    version = routes_version_current()
    assert follower.book.answer(after=version, digest=follower.table.digest) is None
    assert follower.book.answer(after=version, digest=None) is None
    answer = follower.book.answer(after=version, digest="0" * 32)
    assert answer is not None
    assert answer["after"] is None


def test_everything_is_read_once_for_who_gave_up_waiting_and_holds_what_changed_meanwhile(
    follower: Follower, django_assert_max_num_queries: Any
) -> None:
    for _ in range(3):
        make_replica(deployment=make_deployment(environment="production"))
    with transaction.atomic():
        routes_version_bump()
    follower.book.answer(after=1, digest=None)
    api_key_revoke(api_key=ApiKey.objects.get())
    follower.poll()
    with django_assert_max_num_queries(4):  # a moment begins, ends, and has a version and changes
        again = follower.book.answer(after=1, digest=None)
    assert again is not None
    assert again["after"] is None
    assert again == Follower(RoutesBook(ManualClock())).poll()
    follower.book._check._clock.advance(KEPT_SECONDS)
    with pytest.raises(pytest.fail.Exception), django_assert_max_num_queries(4):
        follower.book.answer(after=1, digest=None)


def test_a_change_costs_no_more_queries_in_a_larger_fleet(
    follower: Follower, django_assert_max_num_queries: Any
) -> None:
    for _ in range(3):
        make_replica(deployment=make_deployment(environment="production"))
    with transaction.atomic():
        routes_version_bump()
    follower.poll()
    api_key_revoke(api_key=ApiKey.objects.order_by("id")[0])
    with django_assert_max_num_queries(1):  # of all kinds, and of one moment
        assert len((follower.poll() or {})["keys"]) == 1


def test_gateways_of_two_releases_are_told_each_in_its_form(client: Client) -> None:
    gateway = make_gateway()
    routes_version_bump()
    headers = {"Authorization": f"Bearer {gateway.name}"}
    old = client.get("/internal/v1/routes?after=0", headers=headers).json()
    new = client.get("/internal/v1/routes?after=0&format=2", headers=headers).json()
    assert (old["format"], new["format"]) == (1, 2)
    assert old["version"] == new["version"]
    question = f"/internal/v1/routes?after={new['version']}&format=2&digest={new['digest']}"
    assert client.get(question, headers=headers).status_code == 204


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(1, 6))]
)
def test_any_sequence_of_what_people_and_nodes_do_is_told_in_full(seed: int) -> None:
    """Also when polls come rarely, so that a change tells of several versions."""
    choose, world = random.Random(seed), World()
    follower, rare = (Follower(RoutesBook(ManualClock())) for _ in range(2))
    for turn in range(40):
        choose.choice(ACTS)(world, choose)
        follower.poll()
        if turn % 7 == 6:
            rare.poll()
            assert rare.table.snapshot == whole().snapshot
        assert follower.table.snapshot == whole().snapshot
    assert follower.book.unnamed == 0


class World:
    def __init__(self) -> None:
        self.team = make_team()
        self.node = make_serving_node(memory_bytes=64 * GIB)
        self.gateway = make_gateway()


def _make_model(world: World, choose: random.Random) -> None:
    name = f"model-{ServedModel.objects.count()}-{choose.random()}"
    model_create(team=world.team, name=name, build=make_servable_build(team=world.team))


def _make_deployment(world: World, choose: random.Random) -> None:
    for model in _any(ServedModel, choose):
        deployment_create(model=model, build=make_servable_build(team=world.team))


def _report(world: World, choose: random.Random) -> None:
    rows = Replica.objects.filter(node=world.node).exclude(state__in=REPLICA_TERMINAL)
    states = {}
    for replica in rows.order_by("ordered_at"):
        choice = choose.choice(["loading", "ready", "ready", "ready", "failed"])
        states[replica.id] = "stopped" if replica.wanted == "stopped" else choice
    Node.objects.update(last_heartbeat_at=_now())
    node_says(world.node, states)


def _apply(world: World, choose: random.Random) -> None:
    world.gateway.applied_version, world.gateway.last_seen_at = routes_version_current(), _now()
    world.gateway.save()
    deployments_sweep()


def _promote(world: World, choose: random.Random) -> None:
    for place in _any(Environment, choose):
        others = Deployment.objects.filter(model_id=place.model_id).order_by("created_at")
        for other in choose.sample([*others], k=min(1, len(others))):
            environment_promote(environment=place, deployment=other)


def _make_environment(world: World, choose: random.Random) -> None:
    for model in _any(ServedModel, choose):
        environment_create(model=model, name=f"place-{choose.randrange(10**6)}")


def _on(model: Any, act: Callable[..., object], argument: str, **more: Any) -> Callable[..., None]:
    def do(world: World, choose: random.Random) -> None:
        for row in _any(model, choose):
            act(**{argument: row}, **more)

    return do


def _rename(world: World, choose: random.Random) -> None:
    for row in _any(Deployment, choose):
        deployment_rename(deployment=row, name=f"name-{choose.randrange(10**6)}")


def _make_key(world: World, choose: random.Random) -> None:
    api_key_create(team=world.team, type=ApiKeyType.WORKSPACE_INVOKE)


def _refused(act: Callable[..., None]) -> Callable[..., None]:
    def do(world: World, choose: random.Random) -> None:
        try:
            act(world, choose)
        except ApiError:
            return

    return do


def _any(model: Any, choose: random.Random) -> list[Any]:
    rows = list(model.objects.order_by("created_at"))
    return [choose.choice(rows)] if rows else []


def _now() -> Any:
    return clock.now()


ACTS = [
    _refused(act)
    for act in (
        _make_model,
        _make_deployment,
        _make_deployment,
        _report,
        _report,
        _report,
        _apply,
        _apply,
        _promote,
        _promote,
        _make_environment,
        _rename,
        _make_key,
        _on(ApiKey.objects.filter(revoked_at=None).model, api_key_revoke, "api_key"),
        _on(Deployment, deployment_activate, "deployment"),
        _on(Deployment, deployment_deactivate, "deployment"),
        _on(Deployment, deployment_delete, "deployment"),
        _on(Environment, promotion_cancel, "environment"),
        _on(Environment, environment_delete, "environment"),
        _on(ServedModel, model_delete, "model"),
    )
]
