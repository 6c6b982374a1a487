"""The agent against a real web server: order, readiness, kills, adoption, drain."""

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.accounts.routes_version import routes_version_current
from apps.deployments.models import Deployment, Replica
from apps.deployments.nodes.removing import node_remove
from apps.deployments.services.deployments import deployment_deactivate
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import Device, Node
from apps.routes.snapshot import routes_snapshot
from apps.telemetry.logs import log_lines
from controlplane import clock
from controlplane.domain.wire.identity import Identity
from controlplane.processes.engines_left import engines_left
from tests.factories_serving import listened, make_gateway
from tests.gates import Gates
from tests.waiting import seldom, wait_for
from tests.workers.agent.stage import AgentProcess, deploy, publish, wait_for_state
from workers.agent.folders import write_json
from workers.watchdog import EXIT_STATUS

pytestmark = [
    pytest.mark.process,
    pytest.mark.recovery,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def gates() -> Iterator[Gates]:
    """The gates of agents that are given its environment."""
    with Gates() as outcome:
        yield outcome


Serving = tuple[AgentProcess, Deployment]


def test_from_enrollment_to_routes_measurements_and_logs(serving: Serving) -> None:
    agent, deployment = serving
    node = Node.objects.get()
    replica = wait_for(
        lambda: deployment.replicas.filter(report__isnull=False).first(), what="the engine's report"
    )
    assert node.name == "host-1"
    assert Device.objects.get(node=node).kind == "CPU"
    assert (agent.data_dir / "agent" / "credential.json").stat().st_mode & 0o077 == 0
    assert replica.report == {"weights_bytes": 1, "kv_tokens": 2}
    routes = routes_snapshot()["models"][deployment.model_id]
    assert routes["environments"] == {"production": deployment.id}
    assert routes["deployments"][deployment.id]["replicas"] == [
        {"id": replica.id, "host": "127.0.0.1", "port": replica.port}
    ]
    wait_for(
        lambda: (Replica.objects.get(id=replica.id).metrics or {}).get("completion_tokens_total"),
        what="the engine's measurements",
    )
    wait_for(lambda: "serving" in _log_of(replica), what="the engine's log")
    assert "Copying artifact" in _log_of(replica)
    assert _pss_kilobytes(agent) < 60_000


@pytest.fixture
def patient(agent: AgentProcess) -> AgentProcess:
    """An agent that has asked by itself once, and will not do so again within the hour."""
    agent.module = "tests.workers.agent.patient_agent"
    agent.start()
    wait_for((agent.data_dir / "agent" / "wanted.json").exists, what="the first answer")
    return agent


def test_an_order_is_heard_through_the_broker_at_once(patient: AgentProcess, artifact: Any) -> None:
    deployment = deploy(artifact)
    _wait_for_replica(deployment, "ready")


def test_a_killed_engine_and_a_killed_runner_are_reported_at_once_and_replaced(
    patient: AgentProcess, artifact: Any
) -> None:
    deployment = deploy(artifact)
    first = _wait_for_replica(deployment, "ready")
    os.kill(first.pid, signal.SIGKILL)
    first = _wait_for_replica(deployment, "failed", id=first.id)
    assert "was killed (SIGKILL)" in first.failure["sentence"]
    second = _wait_for_replica(deployment, "ready")
    wait_for(
        lambda: Deployment.objects.get(id=deployment.id).state == "active", what="the deployment"
    )
    assert Deployment.objects.get(id=deployment.id).failure is None

    os.kill(patient.folder(second.id).runner().pid, signal.SIGKILL)
    second = _wait_for_replica(deployment, "failed", id=second.id)
    assert second.failure["code"] == "EHN-RUNNER-KILLED"
    assert patient.processes(second.id) == []
    _wait_for_replica(deployment, "ready")


@pytest.mark.long  # test_replica.py ends what an engine left
def test_a_replica_that_is_forgotten_leaves_no_process_behind(
    agent: AgentProcess, settings: Any, tmp_path: Path
) -> None:
    deployment = deploy(publish(settings, tmp_path, {"misbehave": "leave a child"}))
    agent.start()
    wait_for_state(deployment, "active")
    replica = deployment.replicas.get()
    wait_for(lambda: len(agent.processes(replica.id)) == 2, what="the engine's child")
    os.kill(agent.folder(replica.id).runner().pid, signal.SIGKILL)
    wait_for(lambda: not agent.folder(replica.id).path.exists(), what="its folder to go")
    assert agent.processes(replica.id) == []


def test_a_killed_agent_leaves_its_engine_serving_and_the_next_one_takes_over(
    serving: Serving,
) -> None:
    agent, deployment = serving
    replica = deployment.replicas.get()
    agent.signal(signal.SIGKILL)
    assert Path(f"/proc/{replica.pid}").exists()
    agent.start()
    wait_for(lambda: "adopted" in agent.log, what=lambda: f"adoption in {agent.log}")
    before = Node.objects.get().replicas_heard_at
    wait_for(lambda: Node.objects.get().replicas_heard_at > before, what="its next report")
    deployments_sweep()
    after = deployment.replicas.get()
    assert (after.id, after.pid, after.state) == (replica.id, replica.pid, "ready")


def test_sigterm_leaves_engines_unless_told_and_sigint_ends_them(serving: Serving) -> None:
    agent, deployment = serving
    replica = deployment.replicas.get()
    assert agent.signal(signal.SIGTERM) == 0
    assert Path(f"/proc/{replica.pid}").exists()
    assert [each.replica_id for each in engines_left(agent.data_dir)] == [replica.id]
    agent.start()
    wait_for(lambda: "adopted" in agent.log, what=lambda: f"adoption in {agent.log}")
    assert agent.signal(signal.SIGINT) == 0
    assert agent.processes(replica.id) == []
    assert Replica.objects.get(id=replica.id).state == "stopped"

    agent.extra = {"AGENT_STOP_ENGINES_ON_EXIT": "1"}
    agent.start()
    wait_for_state(deployment, "active")
    again = deployment.replicas.get(state="ready")
    agent.signal(signal.SIGTERM)
    assert agent.processes(again.id) == []
    assert Replica.objects.get(id=again.id).state == "stopped"


@pytest.mark.long  # of an agent that has started it is said above
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_agent_that_is_ended_while_it_starts_ends_the_engines_of_the_one_before(
    serving: Serving, gates: Gates, number: signal.Signals
) -> None:
    agent, deployment = serving
    replica = deployment.replicas.get()
    agent.signal(signal.SIGKILL)
    gates.hold("agent.begins")
    agent.extra = {**gates.environment, "AGENT_STOP_ENGINES_ON_EXIT": "1"}
    pid = agent.start().process.pid
    assert gates.wait_for_arrival("agent.begins") == pid
    os.kill(pid, number)
    gates.let_go("agent.begins")
    assert agent.wait() == 0
    assert agent.processes(replica.id) == []
    assert Replica.objects.get(id=replica.id).state == "stopped"


def test_deactivation_drains_through_gateways_and_ends_the_engine(serving: Serving) -> None:
    agent, deployment = serving
    replica = deployment.replicas.get()
    gateway = make_gateway(applied_version=routes_version_current())
    deployment_deactivate(deployment=deployment)
    deployment_settle(deployment_id=deployment.id)
    deployments_sweep()
    assert (
        routes_snapshot()["models"][deployment.model_id]["deployments"][deployment.id]["replicas"]
        == []
    )
    assert Path(f"/proc/{replica.pid}").exists(), "the gateway still sends requests there"
    gateway.applied_version = routes_version_current()
    gateway.save()
    wait_for_state(deployment, "inactive")
    assert agent.processes(replica.id) == []
    wait_for(lambda: not agent.folder(replica.id).path.exists(), what="its folder to go")


@pytest.mark.long  # test_supervision.py
def test_an_older_generation_is_ended_and_so_is_what_nobody_knows(serving: Serving) -> None:
    agent, deployment = serving
    replica = deployment.replicas.get()
    Deployment.objects.filter(id=deployment.id).update(generation=2)
    Replica.objects.filter(id=replica.id).update(generation=2, state="ordered")
    wait_for(lambda: agent.processes(replica.id, 2), what="the newer generation")
    assert agent.processes(replica.id) == []
    _wait_for_replica(deployment, "ready", id=replica.id)
    assert agent.processes(replica.id, 2)
    Replica.objects.filter(id=replica.id).delete()
    wait_for(lambda: not agent.processes(replica.id, 2), what="the end of what nobody knows")


def test_an_engine_that_cannot_start_says_why(
    agent: AgentProcess, settings: Any, tmp_path: Path
) -> None:
    deployment = deploy(publish(settings, tmp_path, {"misbehave": "no memory"}))
    agent.start()
    failed = _wait_for_replica(deployment, "failed", meanwhile=seldom(deployments_sweep))
    assert failed.failure["code"] == "ENG-OUT-OF-MEMORY"


def test_a_missing_artifact_is_a_failure_of_its_own(agent: AgentProcess, artifact: Any) -> None:
    artifact.content_digest = "sha256:" + "0" * 64
    artifact.save()
    deployment = deploy(artifact)
    agent.start()
    failed = _wait_for_replica(deployment, "failed", meanwhile=seldom(deployments_sweep))
    assert failed.failure["code"] == "EHA-MISSING"


@pytest.mark.long  # test_supervision.py says it in one process
def test_losing_the_control_plane_and_the_broker_stops_nothing(
    serving: Serving,
) -> None:
    agent, deployment = serving
    replica = deployment.replicas.get()
    agent.signal(signal.SIGTERM)
    away = {"CONTROL_PLANE_URL": "http://127.0.0.1:9", "BROKER_URL": "redis://127.0.0.1:9/0"}
    agent.extra = away
    agent.start()
    wait_for(
        lambda: "control plane is away" in agent.log and "broker does not answer" in agent.log,
        what=lambda: f"both to be missed in {agent.log}",
    )
    assert agent.process is not None
    assert agent.process.poll() is None
    assert Path(f"/proc/{replica.pid}").exists()
    assert len(agent.processes(replica.id)) == 1


def test_an_agent_that_hangs_ends_and_the_next_one_finds_its_engine_serving(
    agent: AgentProcess, deployment: Deployment
) -> None:
    agent.module = "tests.workers.agent.hanging_agent"
    agent.start()
    ended = agent.process
    assert ended is not None
    wait_for(
        lambda: ended.poll() is not None,
        what="the agent's end",
        meanwhile=seldom(deployments_sweep),
    )
    assert agent.wait() == EXIT_STATUS
    assert "the loop has not turned for 30 s" in agent.log
    assert "in hanging" in agent.log, "the stack that held it up"
    replica = deployment.replicas.get()
    assert len(agent.processes(replica.id)) == 1
    agent.module = "workers.agent"
    agent.start()
    wait_for_state(deployment, "active")
    assert deployment.replicas.get().id == replica.id


def test_an_agent_that_is_stopped_and_continued_takes_no_engine_out(serving: Serving) -> None:
    agent, deployment = serving
    replica = deployment.replicas.get()
    assert agent.process is not None
    agent.process.send_signal(signal.SIGSTOP)
    node = Node.objects.get()
    Node.objects.update(last_heartbeat_at=clock.now() - timedelta(seconds=16))
    listened()
    deployments_sweep()
    assert deployment.replicas.get().state == "lost"
    report = routes_snapshot()["models"][deployment.model_id]["deployments"][deployment.id]
    (suspect,) = report["suspects"]
    identity = Identity(
        deployment_id=deployment.id,
        replica_id=replica.id,
        generation=replica.generation,
        boot_id=node.boot_id,
    )
    answer = httpx.get(f"http://127.0.0.1:{suspect['probe_port']}/identity")
    assert identity.is_in(answer.content), "its runner was not stopped"
    agent.process.send_signal(signal.SIGCONT)
    wait_for_state(deployment, "active")
    assert deployment.replicas.get(state="ready").pid == replica.pid


def test_an_agent_without_credential_or_token_says_what_to_do(agent: AgentProcess) -> None:
    agent.environment["ENROLLMENT_TOKEN"] = ""
    agent.start()
    assert agent.wait() == 2
    assert "manage.py enrollment_token" in agent.log


def test_a_second_agent_on_the_same_folder_is_refused(agent: AgentProcess) -> None:
    agent.start()
    wait_for(Node.objects.exists, what="the enrollment")
    assert replace(agent).start().wait() == 2
    assert "another agent" in agent.log


def test_a_credential_that_was_replaced_is_renewed_with_a_fresh_token(serving: Serving) -> None:
    from apps.fleet.services.enrollment import enrollment_token_create

    agent, deployment = serving
    agent.signal(signal.SIGTERM)
    write_json(
        agent.data_dir / "agent" / "credential.json", {"node_id": "x", "credential": "stale"}
    )
    agent.environment["ENROLLMENT_TOKEN"] = enrollment_token_create()
    agent.start()
    wait_for(
        lambda: "enrolled as node host-1" in agent.log.split("refused")[-1],
        what=lambda: f"the second enrollment in {agent.log}",
    )
    assert deployment.replicas.get().state == "ready"


@pytest.mark.long  # tests/controlplane/processes/test_engines_left.py
def test_an_engine_that_was_left_ends_when_its_runner_is_asked_to(serving: Serving) -> None:
    agent, deployment = serving
    replica = deployment.replicas.get()
    agent.signal(signal.SIGTERM)
    (left,) = engines_left(agent.data_dir)
    assert left.model == deployment.model.name
    left.ask_to_end()
    wait_for(lambda: not agent.processes(replica.id), what="the end of the engine")
    wait_for(lambda: not engines_left(agent.data_dir), what="the end of its runner")


@pytest.mark.long  # test_supervision.py and test_control_plane.py
def test_the_agent_of_a_removed_node_ends_what_it_runs_and_comes_back_with_a_new_token(
    serving: Serving,
) -> None:
    from apps.fleet.services.enrollment import enrollment_token_create

    agent, deployment = serving
    replica = deployment.replicas.get()
    agent.signal(signal.SIGTERM)
    Node.objects.update(last_heartbeat_at=clock.now() - timedelta(hours=1))
    assert len(node_remove(node=replica.node).lines) == 1
    assert agent.processes(replica.id)
    agent.start()
    wait_for(lambda: not agent.processes(replica.id), what=lambda: f"its end: {agent.log}")
    credential = agent.data_dir / "agent" / "credential.json"
    wait_for(lambda: not credential.exists(), what=lambda: f"the credential to go: {agent.log}")
    assert "Node `host-1` was removed." in agent.log
    agent.signal(signal.SIGTERM)
    agent.environment["ENROLLMENT_TOKEN"] = enrollment_token_create()
    agent.start()
    wait_for_state(deployment, "active")
    assert deployment.replicas.get(state="ready").node_id == replica.node_id


def _wait_for_replica(
    deployment: Deployment, state: str, *, meanwhile: Callable[[], object] = bool, **which: Any
) -> Replica:
    """Return a replica of the deployment once it is in that state."""
    return wait_for(
        lambda: deployment.replicas.filter(state=state, **which).first(),
        what=lambda: f"a {state} replica among {list(deployment.replicas.values())}",
        meanwhile=meanwhile,
    )


def _log_of(replica: Replica) -> str:
    return "\n".join(line.message for line in log_lines(owners=[replica.log_owner]))


def _pss_kilobytes(agent: AgentProcess) -> int:
    assert agent.process is not None
    rollup = Path(f"/proc/{agent.process.pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
