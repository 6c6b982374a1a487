"""The nearest earlier artifact of the team is found, of the same config or checkpoint."""

from typing import TYPE_CHECKING, Any

import pytest

from apps.builds.models import Build
from apps.builds.services.reuse import reuse_of
from controlplane.artifacts import input_digest
from tests import factories
from tests.apps.builds.stage import TOOLS, make_inputs

if TYPE_CHECKING:
    from tests.factories import Cast

pytestmark = pytest.mark.django_db
REPO = "/checkpoints/tiny"


@pytest.fixture
def build(cast: "Cast") -> Build:
    return factories.make_build(team=cast.team)


def published(cast: "Cast", inputs: dict[str, Any] | None, **changes: Any) -> str:
    return factories.make_artifact(team=cast.team, inputs=inputs, **changes).id


def test_the_artifact_with_the_fewest_differences_is_compared_with(
    cast: "Cast", build: Build
) -> None:
    inputs = make_inputs(build.revision.spec)
    far = make_inputs(factories.spec_json() | {"model_name": "other"}, commit="c1")
    near = make_inputs(build.revision.spec, tool_versions=TOOLS | {"torch": "2.12.0"})
    nearest = published(cast, near)
    published(cast, far)
    factories.make_artifact(inputs=near)
    reuse = reuse_of(build, inputs)
    assert (reuse["state"], reuse["artifact_id"]) == ("differs", nearest)
    assert [each["label"] for each in reuse["differences"]] == ["torch version"]


def test_another_checkpoint_of_another_config_says_nothing(cast: "Cast", build: Build) -> None:
    published(cast, make_inputs(factories.spec_json("/checkpoints/other")))
    assert reuse_of(build, make_inputs(build.revision.spec))["state"] == "first"


def test_another_checkpoint_of_the_same_config_is_compared_with(cast: "Cast", build: Build) -> None:
    other = factories.make_artifact(
        team=cast.team, inputs=make_inputs(factories.spec_json("/checkpoints/other"))
    )
    factories.make_build(revision=build.revision, artifact=other)
    reuse = reuse_of(build, make_inputs(build.revision.spec))
    assert [each["now"] for each in reuse["differences"]] == [REPO]


def test_equal_inputs_are_the_same_and_unkept_ones_cannot_be_compared(
    cast: "Cast", build: Build
) -> None:
    inputs = make_inputs(build.revision.spec)
    old = factories.make_artifact(team=cast.team)
    factories.make_build(revision=build.revision, artifact=old)
    assert reuse_of(build, inputs)["state"] == "incomparable"
    same = published(cast, inputs, input_digest=input_digest(inputs))
    assert reuse_of(build, inputs) == {"state": "same", "artifact_id": same, "differences": []}
