"""Whatever a page takes away for good, it takes away only from whoever typed its name."""

import pytest

from apps.accounts.models import ApiKey, Membership, Team
from apps.deployments.models import Deployment
from apps.secrets.models import Secret
from tests.apps.pages import signed_in
from tests.factories import (
    make_api_key,
    make_artifact,
    make_calibration_version,
    make_cast,
    make_deployment,
    make_environment,
    make_model,
    make_team,
)
from tests.factories_alerts import make_alert_channel

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_nothing_is_taken_away_without_its_name() -> None:
    cast = make_cast()
    admin = cast.organisation_admin
    admin.team = cast.team
    admin.save()
    make_api_key(team=cast.team, name="playground")
    key = ApiKey.objects.get(name="playground")
    secret = Secret.objects.create(
        team=cast.team, name="hub_token", key_id="k", nonce=b"n", ciphertext=b"c"
    )
    spare = make_team(name="spare")
    calibration = make_calibration_version(team=cast.team).set
    deployment = make_deployment(model=make_model(team=cast.team))
    stopped = make_deployment(model=deployment.model, state="inactive")
    place = make_environment(model=deployment.model)
    artifact = make_artifact(team=cast.team)
    channel = make_alert_channel(team=cast.team)
    doors = {
        f"/keys/{key.id}/revoke/": {},
        f"/secrets/{secret.id}/delete/": {},
        f"/teams/{spare.id}/delete/": {},
        f"/calibration-sets/{calibration.id}/delete/": {},
        f"/artifacts/{artifact.id}/delete/": {},
        f"/alerts/channels/{channel.id}/delete/": {},
        f"/people/{cast.member.id}/remove/": {},
        f"/people/{cast.member.id}/status/": {"status": "deactivated"},
        f"/models/{deployment.model_id}/{deployment.id}/deactivate/": {},
        f"/models/{stopped.model_id}/{stopped.id}/delete/": {},
        f"/models/{place.model_id}/delete/": {},
        f"/models/{place.model_id}/environments/{place.name}/delete/": {},
    }
    client = signed_in(admin)
    for path, given in doors.items():
        for typed in ({}, {"name": "something-else"}):
            assert client.post(path, given | typed).status_code in (302, 409), path
    assert ApiKey.objects.get(id=key.id).revoked_at is None
    assert Secret.objects.filter(id=secret.id).exists()
    assert Team.objects.filter(id=spare.id).exists()
    calibration.refresh_from_db()
    stopped.refresh_from_db()
    place.refresh_from_db()
    artifact.refresh_from_db()
    channel.refresh_from_db()
    assert Membership.objects.filter(team=cast.team, user=cast.member).exists()
    cast.member.refresh_from_db()
    assert cast.member.is_active
    assert Deployment.objects.get(id=deployment.id).state == deployment.state
    client.post(f"/teams/{spare.id}/delete/", {"name": "spare"})
    assert not Team.objects.filter(id=spare.id).exists()
