"""A team's model on a node, and the node's voice. Imports wait for Django's set-up."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from apps.accounts.models import Team
    from apps.builds.models import Build
    from apps.deployments.models import Deployment, ServedModel
    from apps.fleet.models import Node
    from tests.factories import Cast


@pytest.fixture
def team() -> "Team":
    from tests.factories import make_team

    return make_team()


@pytest.fixture
def cast() -> "Cast":
    from tests.factories import make_cast

    return make_cast()


@pytest.fixture
def node() -> "Node":
    from tests.factories_serving import make_serving_node

    return make_serving_node()


@pytest.fixture
def build(team: "Team") -> "Build":
    from tests.factories_serving import make_servable_build

    return make_servable_build(team=team)


@pytest.fixture
def served(team: "Team", build: "Build", node: "Node") -> "tuple[ServedModel, Deployment]":
    """A model whose first deployment has been ordered on the node."""
    from apps.deployments.served_models.services import model_create
    from apps.deployments.services.reconcile import deployment_settle

    model, deployment = model_create(team=team, name="tiny", build=build)
    deployment_settle(deployment_id=deployment.id)
    deployment.refresh_from_db()
    return model, deployment


@pytest.fixture
def say(node: "Node") -> Callable[..., None]:
    """Report states of the node's replicas, by id; those left out are not running."""
    from tests.factories_serving import node_says

    def report(states: dict[str, str], **more: Any) -> None:
        node_says(more.pop("on", node), states, **more)

    return report
