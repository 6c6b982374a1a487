"""Every factory makes a row that the database accepts, and that the code can read."""

import pytest

from controlplane.domain.lifecycle import BuildState
from tests import factories

pytestmark = pytest.mark.django_db


def test_a_deployment_brings_all_that_it_stands_on() -> None:
    team = factories.make_team()
    deployment = factories.make_deployment(team=team, environment="production")
    assert deployment.model.team == team
    assert deployment.build is not None
    assert deployment.build.state == BuildState.SUCCEEDED
    assert deployment.artifact == deployment.build.artifact
    assert deployment.current_of.get().name == "production"
    assert factories.make_replica(deployment=deployment).node.last_heartbeat_at is not None


def test_rows_that_stand_alone_are_valid() -> None:
    factories.make_lease()
    factories.make_gateway()
    factories.make_environment()
    factories.make_checkpoint_record()
    assert factories.make_build().steps.count() == 4
    assert factories.make_revision(config=factories.make_config()).number == 1


def test_the_cast_has_someone_outside() -> None:
    cast = factories.make_cast()
    assert cast.owner.team == cast.member.team != cast.outsider.team
    assert factories.make_api_key(user=cast.member).count(".") == 1
