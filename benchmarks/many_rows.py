"""A team with many rows of everything, each as large as real ones are: for benchmarks and tests."""

from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from apps.accounts.models import Team, User
from apps.alerts.models import AlertChannel
from apps.benchmarks.models import Benchmark
from apps.builds.models import Artifact, ArtifactPush, Build, BuildStep
from apps.configs.models import Config, Revision
from apps.configs.services.configs import config_create
from apps.deployments.models import Deployment, Environment, FailedStarts, Replica, ServedModel
from apps.fleet.models import Device, DeviceLease, Gateway, Node, Worker
from apps.telemetry.models import LogChunk
from benchmarks.many_alerts import alerts_and_channels
from benchmarks.many_benchmarks import many_benchmarks
from benchmarks.many_others import made, people_secrets_and_sets
from benchmarks.telemetry_parts.traffic import traffic_fill
from controlplane.domain.lifecycle import (
    BuildState,
    DeploymentState,
    PushState,
    ReplicaState,
    StepState,
)

GIB = 1024**3
_STATES = (BuildState.SUCCEEDED, BuildState.SUCCEEDED, BuildState.FAILED, BuildState.FETCHING)
_MEASURED = {
    "seconds": 42.0,
    "host": "node-0001",
    "peak_host_bytes": GIB,
    "peak_device_bytes": None,
    "device_bytes_from": None,
    "disk_bytes": GIB,
}
_STEPS = ("fetch", "inspect", "calibrate", "gate", "package", "smoke_test")
_FAILURE = {
    "code": "EHB-DISK-FULL",
    "blame": "machine",
    "sentence": "The disk of `workbench` has 18 MB free and the artifact needs 269 MB.",
    "hint": "Free some space, or point `DATA_DIR` at a larger disk, and try again.",
}
_TEXT = """\
model_name: llama-3.3-70b
resources:
  accelerator: H100:2
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: meta-llama/Llama-3.3-70B-Instruct
    quantization_type: fp8
    max_seq_len: 131072
    tensor_parallel_count: 2
"""


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """How many of each there are; the rest follows from these."""

    configs: int = 1000
    builds: int = 5000
    deployments: int = 200
    others: int = 50
    """Secrets, keys, sets, people, teams, nodes, and pushes of one artifact."""
    minutes: int = 60
    """Of traffic of every deployment."""

    @property
    def models(self) -> int:
        return max(1, self.deployments // 4)


@dataclass(frozen=True, kw_only=True)
class Filled:
    """What a caller asks for by name afterwards."""

    config: Config
    build: Build
    deployment: Deployment
    node: Node
    team: Team
    channel: AlertChannel
    benchmark: Benchmark


def fill(team: Team, user: User, amounts: Amounts) -> Filled:
    """Put that many rows of everything into the team."""
    first = config_create(team=team, name="first", text=_TEXT, user=user)
    revisions = _configs(team, user, first, amounts.configs)
    nodes = _nodes(amounts.others)
    builds = _builds(team, user, revisions, amounts.builds)
    deployments = _deployments(team, builds, nodes, amounts)
    _pushes(team, user, deployments[0], amounts.others)
    people_secrets_and_sets(team, user, amounts.others)
    channel = alerts_and_channels(team, user, amounts.others)
    benchmark = many_benchmarks(team, user, deployments[0], amounts.others)
    traffic_fill(deployments, minutes=amounts.minutes)
    _log(builds[0])
    return Filled(
        config=first,
        build=builds[0],
        deployment=deployments[0],
        node=nodes[0],
        team=team,
        channel=channel,
        benchmark=benchmark,
    )


def _configs(team: Team, user: User, first: Config, count: int) -> list[Revision]:
    told = first.revisions.get()
    configs = made(Config(team=team, name=f"config-{number}") for number in range(count))
    revisions: list[Revision] = made(
        Revision(
            config=config,
            number=number,
            text=told.text,
            spec=told.spec,
            findings=told.findings,
            waiting=told.waiting,
            effective=told.effective,
            plan=told.plan,
            blocks_build=told.blocks_build,
            created_by=user,
        )
        for config in configs
        for number in (1, 2)
    )
    return revisions


def _builds(team: Team, user: User, revisions: list[Revision], count: int) -> list[Build]:
    now = timezone.now()
    artifacts = made(
        Artifact(
            team=team,
            content_digest=f"sha256:{number:064x}",
            input_digest=f"sha256:{number:064x}",
            size_bytes=271_400_000,
            files=[
                {"path": f"model-{part}", "sha256": "ab" * 32, "size_bytes": 9} for part in "abc"
            ],
            passport={
                "format": 1,
                "checkpoint": {"repo": "org/model"},
                "gate": {"state": "passed"},
            },
        )
        for number in range(max(1, count // 5))
    )
    builds: list[Build] = made(
        Build(
            team=team,
            revision=revisions[number % len(revisions)],
            number=number + 1,
            state=(state := _STATES[number % len(_STATES)]),
            failure=_FAILURE if state == BuildState.FAILED else None,
            artifact=artifacts[number % len(artifacts)] if state == BuildState.SUCCEEDED else None,
            created_by=user,
            started_at=now - timedelta(minutes=number),
            finished_at=None if state == BuildState.FETCHING else now,
        )
        for number in range(count)
    )
    made(
        BuildStep(
            build=build,
            name=name,
            position=position,
            state=StepState.RUNNING if build.finished_at is None else StepState.FINISHED,
            started_at=build.started_at,
            finished_at=build.finished_at,
            result={"state": "passed", "figures": {"perplexity": 20.9}},
            measured=_MEASURED,
        )
        for build in builds
        for position, name in enumerate(_STEPS)
    )
    return builds


def _nodes(count: int) -> list[Node]:
    now = timezone.now()
    nodes: list[Node] = made(
        Node(
            name=f"node-{number:04}",
            address="10.0.0.1",
            credential_sha256=f"{number:064x}",
            host_memory_bytes=512 * GIB,
            last_heartbeat_at=now,
        )
        for number in range(count)
    )
    devices = made(
        Device(
            node=node, index=index, uuid=f"{node.name}-{index}", kind="H100", memory_bytes=80 * GIB
        )
        for node in nodes
        for index in range(8)
    )
    made(
        DeviceLease(device=device, holder=f"replica:{device.uuid}", memory_bytes=GIB)
        for device in devices
    )
    made(
        Gateway(name=f"gateway-{number}", credential_sha256=f"{number:064x}", last_seen_at=now)
        for number in range(max(1, count // 20))
    )
    made(
        Worker(name=f"build.default@{node.name}", version="1", started_at=now, last_seen_at=now)
        for node in nodes
    )
    return nodes


def _deployments(
    team: Team, builds: list[Build], nodes: list[Node], amounts: Amounts
) -> list[Deployment]:
    models = made(ServedModel(team=team, name=f"model-{each}") for each in range(amounts.models))
    built = [build for build in builds if build.artifact is not None]
    deployments: list[Deployment] = made(
        Deployment(
            model=models[number % len(models)],
            name=f"deployment-{number}",
            build=built[number % len(built)],
            artifact=built[number % len(built)].artifact,
            runtime="trtllm",
            spec=built[number % len(built)].revision.spec,
            state=DeploymentState.ACTIVE if number % 5 else DeploymentState.DEPLOY_FAILED,
            failure=None if number % 5 else _FAILURE,
        )
        for number in range(amounts.deployments)
    )
    made(
        Environment(model=model, name=name, current=deployments[place])
        for place, model in enumerate(models)
        for name in ("production", "staging")
    )
    made(
        Replica(
            # Of thousands of random ones, two would be the same one run in twenty.
            id=f"{each}0{place}-{team.id}",
            deployment=deployment,
            node=nodes[place % len(nodes)],
            generation=1,
            state=ReplicaState.READY,
            memory_bytes=GIB,
        )
        for place, deployment in enumerate(deployments)
        for each in range(2)
    )
    at = timezone.now()
    made(
        FailedStarts(
            node=node,
            artifact=deployments[0].artifact,
            count=2,
            **dict.fromkeys(("first_at", "last_at", "retry_at"), at),
        )
        for node in nodes
    )
    return deployments


def _pushes(team: Team, user: User, deployment: Deployment, count: int) -> None:
    made(
        ArtifactPush(
            team=team,
            artifact_id=deployment.artifact_id,
            destination=f"hf://org/name-{number}",
            secret_name="secret_0",
            state=PushState.FAILED,
            failure=_FAILURE,
            created_by=user,
        )
        for number in range(count)
    )


def _log(build: Build) -> None:
    made(
        LogChunk(
            owner=f"build:{build.id}:fetch",
            attempt=1,
            sequence=number,
            text="a line of a log as engines and tools print it\n" * 100,
            created_at=timezone.now(),
        )
        for number in range(100)
    )
