"""A replica is reached at its node's enrolled address, at ports of its agent, and nowhere else."""

from collections.abc import Callable
from typing import Any

import pytest

from apps.deployments.models import Deployment, ServedModel
from apps.fleet.models import Node
from apps.routes.snapshot import routes_snapshot

pytestmark = pytest.mark.django_db

Served = tuple[ServedModel, Deployment]
Say = Callable[..., None]


def test_gateways_learn_the_enrolled_address_and_a_port_of_the_agent(
    served: Served, node: Node, say: Say
) -> None:
    Node.objects.update(lowest_engine_port=20_000, highest_engine_port=20_000)
    node.refresh_from_db()
    say({_replica(served).id: "ready"}, port=20_000)
    assert _routes(served) == [{"id": _replica(served).id, "host": "127.0.0.1", "port": 20_000}]


@pytest.mark.parametrize(
    ("place", "code", "words"),
    [
        ({"host": "169.254.169.254", "port": 20_000}, "EHD-ADDRESS", "`169.254.169.254`"),
        ({"host": "", "port": 20_000}, "EHD-ADDRESS", "enrolled at `127.0.0.1`"),
        ({"port": 19_999}, "EHD-PORT", "Port 19999"),
        ({"port": 20_001}, "EHD-PORT", "20000 to 20000"),
        ({"port": 20_000, "probe_port": 22}, "EHD-PORT", "Port 22"),
    ],
)
def test_a_replica_elsewhere_fails_with_the_reason_and_is_never_routed_to(
    served: Served, node: Node, say: Say, place: dict[str, Any], code: str, words: str
) -> None:
    Node.objects.update(lowest_engine_port=20_000, highest_engine_port=20_000)
    node.refresh_from_db()
    replica = _replica(served)
    say({replica.id: "ready"}, **place)
    replica.refresh_from_db()
    assert (replica.state, replica.failure["code"]) == ("failed", code)
    assert words in replica.failure["sentence"]
    assert "ENROLLMENT_TOKEN" in replica.failure["hint"]
    assert _routes(served) == []


def test_a_ready_replica_that_moves_elsewhere_leaves_the_routes(served: Served, say: Say) -> None:
    replica = _replica(served)
    say({replica.id: "ready"}, port=20_000)
    assert _routes(served)
    say({replica.id: "ready"}, host="10.0.0.66", port=20_000)
    assert _routes(served) == []


def _replica(served: Served) -> Any:
    return served[1].replicas.order_by("ordered_at")[0]


def _routes(served: Served) -> Any:
    model, deployment = served
    return routes_snapshot()["models"][model.id]["deployments"][deployment.id]["replicas"]
