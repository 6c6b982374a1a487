"""A real agent process, its end, and what it may be asked to serve. Django comes when needed."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.waiting import DEADLINE_SECONDS, seldom, wait_for

if TYPE_CHECKING:
    from apps.builds.models import Artifact
    from apps.deployments.models import Deployment

ENGINE = Path(__file__).parent / "stand_in_engine.py"


@dataclass
class AgentProcess:
    """One agent with a data folder of its own; started, stopped and killed by the test."""

    data_dir: Path
    environment: dict[str, str]
    module: str = "workers.agent"
    process: subprocess.Popen[bytes] | None = None
    extra: dict[str, str] = field(default_factory=dict)

    def start(self) -> "AgentProcess":
        with (self.data_dir / "agent.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module],
                env={**self.environment, **self.extra},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def signal(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Return the exit status once it has ended."""
        assert self.process is not None
        return self.process.wait(DEADLINE_SECONDS)

    @property
    def log(self) -> str:
        return (self.data_dir / "agent.log").read_text()

    def folder(self, replica_id: str, generation: int = 1) -> Any:
        from workers.agent.folders import replica_folder

        return replica_folder(self.data_dir / "agent" / "replicas", replica_id, generation)

    def processes(self, replica_id: str, generation: int = 1) -> list[int]:
        """Return what runs of the replica: its preparation, or its engine and what that left."""
        from workers.agent.reaping import marked_processes

        return marked_processes(self.folder(replica_id, generation))

    def end(self) -> None:
        """End the agent, kill its runners, and with them their engines."""
        from workers.agent.folders import replica_folders

        if self.process is not None:
            # Not killed at once: a request that it had sent would go on into the next test.
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.wait()
            self.process.kill()
            self.process.wait()

        for folder in replica_folders(self.data_dir / "agent" / "replicas"):
            wait_for(lambda folder=folder: _end_replica(folder), what=f"the end of {folder.path}")


def _end_replica(folder: Any) -> bool:
    """Return whether nothing of the replica is left, nor can come."""
    from workers.agent.folders import try_lock
    from workers.agent.identity import send_signal
    from workers.agent.reaping import kill_marked

    runner = folder.runner()
    if runner is not None:
        send_signal(runner, signal.SIGKILL)
    lock = try_lock(folder.runner_lock)
    if lock is None:
        return False
    folder.write("exit", {"requested": True})  # a runner that comes late leaves
    os.close(lock)
    return kill_marked(folder)


def publish(settings: Any, tmp_path: Path, files: dict[str, str]) -> "Artifact":
    """Store an artifact of these files where agents look for it."""
    from controlplane.artifacts import ArtifactStore
    from tests.factories import make_artifact

    settings.ARTIFACT_URL = (tmp_path / "artifacts").as_uri()
    source = tmp_path / "source"
    source.mkdir()
    for name, text in {"config.json": "{}", **files}.items():
        (source / name).write_text(text)
    published = ArtifactStore.open(settings.ARTIFACT_URL).publish(source, {"format": 1})
    return make_artifact(content_digest=published.content_digest)


def deploy(artifact: "Artifact", name: str = "tiny") -> "Deployment":
    from apps.deployments.served_models.services import model_create
    from tests.factories_serving import make_servable_build

    build = make_servable_build(team=artifact.team, artifact=artifact)
    return model_create(team=artifact.team, name=name, build=build)[1]


def wait_for_state(deployment: "Deployment", state: str) -> None:
    """Sweep until the deployment is in that state."""
    from apps.deployments.models import Deployment
    from apps.deployments.services.sweeping import deployments_sweep

    wait_for(
        Deployment.objects.filter(id=deployment.id, state=state).exists,
        what=f"deployment {deployment.id} to become {state}",
        meanwhile=seldom(deployments_sweep),
    )
