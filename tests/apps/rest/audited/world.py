"""What there is before an operation of REST changes it: addresses of what one may be asked of."""

from dataclasses import dataclass
from typing import Any

from apps.accounts.models import Invitation, RestrictedEnvironment, TeamRole, User
from apps.accounts.people.invitations import invitation_create
from apps.configs.models import LookaheadTuning
from apps.configs.traffic_samples.services import consent_give
from apps.deployments.models import Deployment
from tests import factories, factories_alerts
from tests.apps.rest_client import RestClient, client_of

GRANT = {"source": "HF", "repo": "acme/own", "commit": "a" * 40, "reason": "read"}
CHANNEL = {"name": "mine", "form": "webhook", "target": "https://example.com/other"}


@dataclass(frozen=True, kw_only=True)
class World:
    """A team at work, with an admin of it and of the organisation."""

    admin: User
    member: User
    deployment: Deployment

    @property
    def team(self) -> str:
        return f"/v1/teams/{self.admin.team_id}"

    @property
    def model(self) -> str:
        return f"/v1/models/{self.deployment.model_id}"

    @property
    def build_source(self) -> dict[str, Any]:
        return {"kind": "build", "build_id": self.deployment.build_id}


def client(world: World) -> RestClient:
    return client_of(world.admin)


def spare(world: World, **changes: Any) -> str:
    made = factories.make_deployment(model=world.deployment.model, **changes)
    return f"{world.model}/deployments/{made.id}"


def secret(world: World, base: str = "/v1") -> str:
    client(world).post("/v1/secrets", {"name": "hub", "value": "x"})
    return f"{base}/secrets/hub"


def invitation(world: World) -> Invitation:
    return invitation_create(
        team=world.admin.team, email="new@example.com", role=TeamRole.MEMBER, user=None
    ).invitation


def restricted(world: World) -> str:
    RestrictedEnvironment.objects.create(team=world.admin.team, name="production")
    return f"{world.team}/restricted_environments/production"


def staging(world: World, **changes: Any) -> str:
    factories.make_environment(model=world.deployment.model, **changes)
    return f"{world.model}/environments/staging"


def served_before(world: World) -> str:
    before, now = (factories.make_deployment(model=world.deployment.model) for _ in range(2))
    place = factories.make_environment(model=world.deployment.model, current=before)
    place.current = now
    place.save()
    return f"{world.model}/environments/staging"


def rolling(world: World, paused: str | None = None) -> str:
    """Return the address of an environment on its way to a deployment with a ready replica."""
    roll = {"total": 1, "direction": "up", "paused": paused}
    current = factories.make_deployment(model=world.deployment.model)
    factories.make_replica(deployment=world.deployment, state="ready")
    return staging(
        world,
        candidate=world.deployment,
        current=current,
        promotion={"status": "RELEASING", "plan": {}, "roll": roll},
    )


def member_elsewhere(world: World) -> str:
    factories.Membership.objects.create(user=world.member, team=factories.make_team())
    return f"{world.team}/members/{world.member.id}"


def build(world: World, action: str, **changes: Any) -> str:
    return f"/v1/builds/{factories.make_build(team=world.admin.team, **changes).id}/{action}"


def channel(world: World) -> str:
    made = factories_alerts.make_alert_channel(team=world.admin.team)
    return f"/v1/alert_channels/{made.id}"


def tuning(world: World, action: str, **changes: Any) -> str:
    made = LookaheadTuning.objects.create(
        team=world.admin.team, revision=factories.make_revision(team=world.admin.team),
        dataset="team/edits", requests=1, pool="default", **changes,
    )  # fmt: skip
    return f"/v1/lookahead_tunings/{made.id}/{action}"


def sampled(world: World) -> str:
    consent_give(team=world.admin.team, share=0.01, kept_days=7, user=world.admin)
    return "/v1/traffic_samples"


def push(world: World, action: str, **changes: Any) -> str:
    made = factories.make_push(team=world.admin.team, **changes)
    return f"/v1/artifacts/{made.artifact_id}/pushes/{made.id}/{action}"


def grant(world: World) -> str:
    return str(client(world).post("/v1/remote_code_grants", GRANT)[1]["id"])


def key(world: World) -> str:
    text = factories.make_api_key(team=world.admin.team)
    return f"/v1/api_keys/{text.partition('.')[0]}"
