"""Rows for tests, each valid as it stands; `**changes` override any column.

The cast, whom every call asks: an admin (the owner) and a member of one team, an admin of another
(the outsider), and an admin of the organisation.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import ApiKey, ApiKeyType, Membership, Team, TeamRole, User
from apps.builds.models import Artifact, ArtifactPush, Build, BuildStep
from apps.configs.models import (
    CalibrationSet,
    CalibrationVersion,
    CheckpointRecord,
    Config,
    Revision,
)
from apps.deployments.models import Deployment, Environment, FailedStarts, Replica, ServedModel
from apps.fleet.models import Device, DeviceLease, Gateway, Node
from apps.rest.identifiers import new_id
from controlplane import clock
from controlplane.domain.lifecycle import (
    BuildState,
    DeploymentState,
    ReplicaState,
    StepState,
    steps_of_build,
)

GIB = 1024**3
CONFIG_TEXT = """\
# A tiny checkpoint on this machine's CPU.
model_name: tiny
resources:
  cpu: "2"
  memory: 4Gi
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: LOCAL
      repo: {repo}
    max_seq_len: 512
    max_batch_size: 4
"""
DIGEST = "sha256:" + "ab" * 32


@dataclass(frozen=True, kw_only=True)
class Cast:
    team: Team
    owner: User
    member: User
    outsider: User
    organisation_admin: User


def make_cast() -> Cast:
    inside, outside, headquarters = (
        Team(name=name) for name in ("inside", "outside", "headquarters")
    )
    cast = Cast(
        team=inside,
        owner=User(team=inside, email="owner@example.com"),
        member=User(team=inside, email="member@example.com"),
        outsider=User(team=outside, email="outsider@example.com"),
        organisation_admin=User(team=headquarters, email="admin@example.com", is_admin=True),
    )
    _store(cast, teams=(inside, outside, headquarters))
    return cast


def _store(cast: Cast, *, teams: Sequence[Team]) -> None:
    """Insert all at once: every other test begins with this."""
    members, admins = (cast.member, cast.organisation_admin), (cast.owner, cast.outsider)
    for user in (*members, *admins):
        user.set_unusable_password()
    Team.objects.bulk_create(teams)
    User.objects.bulk_create([*members, *admins])
    Membership.objects.bulk_create(
        [
            *(Membership(user=user, team=user.team) for user in members),
            *(Membership(user=user, team=user.team, role=TeamRole.ADMIN) for user in admins),
        ]
    )


def make_team(**changes: Any) -> Team:
    return Team.objects.create(**{"name": f"team-{new_id()}"} | changes)


def make_user(
    *, password: str | None = None, role: TeamRole = TeamRole.MEMBER, **changes: Any
) -> User:
    """A member; without `password` nobody can sign in with one (hashing costs 50 ms)."""
    user = User(**{"email": f"{new_id()}@example.com"} | changes)
    if not user.team_id:
        user.team = make_team()
    if password is None:
        user.set_unusable_password()
    else:
        user.set_password(password)
    user.save()
    Membership.objects.create(user=user, team=user.team, role=role)
    return user


def make_api_key(*, user: User | None = None, **changes: Any) -> str:
    """Store a key and return its whole text; a full team key unless `type` says otherwise."""
    prefix = new_id()
    text = f"{prefix}.{secrets.token_urlsafe(32)}"
    if user is not None:
        changes = {"team": user.team, "owner": user} | changes
    if "team" not in changes:
        changes["team"] = make_team()
    ApiKey.objects.create(
        **{
            "prefix": prefix,
            "secret_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "type": ApiKeyType.WORKSPACE_MANAGE_ALL,
        }
        | changes
    )
    return text


def make_config(**changes: Any) -> Config:
    if "team" not in changes:
        changes["team"] = make_team()
    return Config.objects.create(**{"name": f"config-{new_id()}"} | changes)


def config_text(repo: str = "/checkpoints/tiny") -> str:
    """The YAML of a config that a CPU can serve."""
    return CONFIG_TEXT.format(repo=repo)


def spec_json(repo: str = "/checkpoints/tiny") -> dict[str, Any]:
    """What `config_text(repo)` says, in the form that rows store."""
    return {
        "model_name": "tiny",
        "resources": {"cpu": "2", "memory": "4Gi"},
        "trt_llm": {
            "build": {
                "base_model": "decoder",
                "checkpoint_repository": {"source": "LOCAL", "repo": repo},
                "max_seq_len": 512,
                "max_batch_size": 4,
            }
        },
    }


def make_revision(*, repo: str = "/checkpoints/tiny", **changes: Any) -> Revision:
    """The next revision of `config`, buildable unless `blocks_build` says otherwise."""
    config = changes.pop("config", None) or make_config(
        **{"team": changes.pop("team")} if "team" in changes else {}
    )
    defaults = {
        "config": config,
        "number": config.revisions.count() + 1,
        "text": config_text(repo),
        "spec": spec_json(repo),
        "blocks_build": False,
    }
    return Revision.objects.create(**defaults | changes)


def make_checkpoint_record(**changes: Any) -> CheckpointRecord:
    """A record as it is when first asked for: waiting."""
    if "team" not in changes:
        changes["team"] = make_team()
    asked_at = changes.get("fetched_at") or clock.now()
    defaults = {"source": "LOCAL", "repo": "/checkpoints/tiny", "requested_at": asked_at}
    return CheckpointRecord.objects.create(**defaults | changes)


def make_build(*, with_steps: bool = True, **changes: Any) -> Build:
    """A queued build of a new revision, with its steps waiting."""
    revision = changes.pop("revision", None) or make_revision(
        **{"team": changes.pop("team")} if "team" in changes else {}
    )
    team = revision.config.team
    defaults = {"team": team, "revision": revision, "number": team.builds.count() + 1}
    build = Build.objects.create(**defaults | changes)
    if with_steps:
        make_steps(build)
    return build


def make_steps(build: Build, **changes: Any) -> list[BuildStep]:
    """The steps that the build's spec asks for."""
    build_section = build.revision.spec["trt_llm"]["build"]
    names = steps_of_build(
        quantizes=build_section.get("quantization_type", "no_quant") != "no_quant"
    )
    return BuildStep.objects.bulk_create(
        BuildStep(
            **{"build": build, "name": name, "position": position, "state": StepState.WAITING}
            | changes
        )
        for position, name in enumerate(names)
    )


def make_artifact(**changes: Any) -> Artifact:
    if "team" not in changes:
        changes["team"] = make_team()
    defaults = {
        "content_digest": DIGEST,
        "input_digest": f"sha256:{new_id()}",
        "size_bytes": 500_000,
        "files": [{"path": "config.json", "sha256": "ab" * 32, "size_bytes": 600}],
        "passport": {"format": 1},
    }
    return Artifact.objects.create(**defaults | changes)


def make_push(**changes: Any) -> ArtifactPush:
    """A push that waits, of an artifact of `team`."""
    team = changes.pop("team", None) or make_team()
    defaults = {"destination": "hf://org/name", "secret_name": "hf_write", "team": team}
    if "artifact" not in changes:
        defaults["artifact"] = make_artifact(team=team)
    return ArtifactPush.objects.create(**defaults | changes)


def make_calibration_version(name: str = "support-chats", **changes: Any) -> CalibrationVersion:
    """A version of a team's set whose file is nowhere; `team` says whose."""
    team = changes.pop("team", None) or make_team()
    kept, _ = CalibrationSet.objects.get_or_create(team=team, name=name)
    defaults = {
        "number": kept.versions.count() + 1,
        "digest": DIGEST,
        "content_digest": DIGEST,
        "file_name": "rows.jsonl",
        "uploaded_name": f"{name}.jsonl",
        "column": "messages",
        "rows": 1200,
        "empty_rows": 3,
        "short_rows": 12,
        "size_bytes": 412_000,
        "head": ["user: Where is my parcel?\nassistant: It has left the depot."],
    }
    return CalibrationVersion.objects.create(set=kept, **defaults | changes)


def make_finished_build(**changes: Any) -> Build:
    """A build that succeeded, with its artifact and finished steps."""
    build = make_build(with_steps=False, **changes)
    now = clock.now()
    build.state = BuildState.SUCCEEDED
    build.started_at = build.finished_at = now
    build.artifact = build.artifact or make_artifact(team=build.team)
    build.save()
    make_steps(build, state=StepState.FINISHED, started_at=now, finished_at=now)
    return build


def make_node(**changes: Any) -> Node:
    """A host that spoke just now."""
    defaults = {
        "name": f"node-{new_id()}",
        "address": "127.0.0.1",
        "boot_id": new_id(),
        "credential_sha256": secrets.token_hex(32),
        "host_memory_bytes": 16 * GIB,
        "last_heartbeat_at": clock.now(),
    }
    return Node.objects.create(**defaults | changes)


def make_device(**changes: Any) -> Device:
    """A shared CPU; give `kind` and `memory_bytes` for a GPU."""
    node = changes.pop("node", None) or make_node()
    index = node.devices.count()
    defaults = {
        "node": node,
        "index": index,
        "uuid": f"DEVICE-{new_id()}",
        "kind": "CPU",
        "memory_bytes": 16 * GIB,
    }
    return Device.objects.create(**defaults | changes)


def make_lease(**changes: Any) -> DeviceLease:
    device = changes.pop("device", None) or make_device()
    return DeviceLease.objects.create(
        **{"device": device, "holder": f"build:{new_id()}", "memory_bytes": GIB} | changes
    )


def make_gateway(**changes: Any) -> Gateway:
    """A gateway that polled just now."""
    defaults = {
        "name": f"gateway-{new_id()}",
        "credential_sha256": secrets.token_hex(32),
        "last_seen_at": clock.now(),
    }
    return Gateway.objects.create(**defaults | changes)


def make_model(**changes: Any) -> ServedModel:
    """A model without deployments."""
    if "team" not in changes:
        changes["team"] = make_team()
    return ServedModel.objects.create(**{"name": f"model-{new_id()}"} | changes)


def make_deployment(*, environment: str | None = None, **changes: Any) -> Deployment:
    """An active deployment of a finished build; `environment` makes it the current one there."""
    model = changes.pop("model", None) or make_model(
        **{"team": changes.pop("team")} if "team" in changes else {}
    )
    build = changes.pop("build", None) or make_finished_build(team=model.team)
    defaults = {
        "model": model,
        "name": f"deployment-{new_id()}",
        "build": build,
        "artifact": build.artifact,
        "runtime": "native",
        "spec": build.revision.spec,
        "state": DeploymentState.ACTIVE,
        "active_since": clock.now(),
    }
    deployment = Deployment.objects.create(**defaults | changes)
    if environment is not None:
        Environment.objects.update_or_create(
            model=model, name=environment, defaults={"current": deployment}
        )
    return deployment


def make_environment(**changes: Any) -> Environment:
    """A place of a model, empty unless `current` fills it."""
    model = changes.pop("model", None) or make_model()
    return Environment.objects.create(**{"model": model, "name": "staging"} | changes)


def make_failed_starts(**changes: Any) -> FailedStarts:
    """An artifact that failed to start on a node once."""
    now = clock.now()
    defaults = {
        "node": changes.pop("node", None) or make_node(),
        "artifact": make_artifact(),
        "count": 1,
        "first_at": now,
        "last_at": now,
        "retry_at": now,
    }
    return FailedStarts.objects.create(**defaults | changes)


def make_replica(**changes: Any) -> Replica:
    """A ready engine on some node, on port 9000."""
    deployment = changes.pop("deployment", None) or make_deployment()
    now = clock.now()
    defaults = {
        "deployment": deployment,
        "node": changes.pop("node", None) or make_node(),
        "generation": deployment.generation,
        "state": ReplicaState.READY,
        "memory_bytes": GIB,
        "host": "127.0.0.1",
        "port": 9000,
        "ready_at": now,
        "observed_at": now,
    }
    return Replica.objects.create(**defaults | changes)
