"""Every operation of the OpenAPI document that changes something leaves an entry in the trail."""

from collections.abc import Mapping

import pytest

from apps.accounts.models import AuditEntry, TeamRole
from apps.rest.specification import document
from tests import factories
from tests.apps.breadth import each_of
from tests.apps.rest.audited.calls import CALLS
from tests.apps.rest.audited.world import World
from tests.apps.rest_client import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.wide]

CHECKED_ELSEWHERE: Mapping[str, str] = {
    "post /v1/artifacts/{artifact_id}/pushes": "needs a secret: tests/apps/builds/pushes",
    "post /v1/builds": "needs a checkpoint: tests/apps/builds",
    "post /v1/builds/{build_id}/apply_fix": "needs a failure: tests/apps/builds",
    "post /v1/builds/{build_id}/promote": "needs a gate: tests/apps/builds",
    "post /v1/calibration_sets": "needs a file: tests/apps/configs/calibration_sets",
    "post /v1/calibration_previews": "needs a set: tests/apps/configs/calibration_sets",
    "delete /v1/calibration_sets/{set_id}": "needs a store: tests/apps/configs/calibration_sets",
    "post /v1/lookahead_tunings": "needs a set: tests/apps/configs/test_lookahead_tunings.py",
    "post /v1/models/{model_id}/deployments/{deployment_id}/change_settings": "needs a checkpoint: "
    "tests/apps/deployments/changing",
    "post /v1/secrets/{name}/test": "needs a target: tests/apps/secrets",
}
CHANGES_NOTHING = frozenset({"post /v1/configs/check", "post /v1/configs/import"})


@pytest.fixture
def world() -> World:
    team = factories.make_team()
    return World(
        admin=factories.make_user(team=team, is_admin=True, role=TeamRole.ADMIN),
        member=factories.make_user(team=team),
        deployment=factories.make_deployment(
            model=factories.make_model(team=team), environment="production"
        ),
    )


def test_every_operation_is_called_here_or_named_with_the_reason() -> None:
    changing = {
        f"{method} {path}"
        for path, methods in document()["paths"].items()
        for method in methods
        if method != "get"
    }
    assert changing == {*CALLS, *CHECKED_ELSEWHERE, *CHANGES_NOTHING}


@each_of("operation", [*CALLS])
def test_an_operation_leaves_an_entry_of_who_called(world: World, operation: str) -> None:
    path, body = CALLS[operation](world)
    client, method = client_of(world.admin), operation.partition(" ")[0]
    last = AuditEntry.objects.order_by("id").last()
    call = {"post": client.post, "patch": client.patch, "delete": client.delete}[method]
    status, answer = call(path) if body is None else call(path, body)  # type: ignore[operator]
    assert status < 300, answer
    entries = AuditEntry.objects.filter(id__gt=last.id if last else 0, source="rest")
    assert [entry for entry in entries if world.admin.email in entry.actor_label], operation
