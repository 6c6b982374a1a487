"""Jobs for real steps and a supervisor that takes notes."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.spec import parse_mapping
from workers.build_steps import outputs
from workers.build_steps.child import OutcomeKind, StepCommand, StepOutcome, Verdict, run_step
from workers.build_steps.events import Progress
from workers.build_steps.job import Job
from workers.build_steps.processes import LEASE_VARIABLE, Process, environment, living


def spec_of(
    repo: str,
    source: str = "LOCAL",
    *,
    samples: int | None = None,
    on: str | None = None,
    **build: Any,
) -> dict[str, Any]:
    parsed = parse_mapping(
        {
            "model_name": "tiny",
            **({"resources": {"accelerator": on}} if on else {}),
            **({"enginehouse": {"calibration": {"samples": samples}}} if samples else {}),
            "trt_llm": {
                "build": {
                    "checkpoint_repository": {"source": source, "repo": repo},
                    "max_seq_len": 256,
                    "max_batch_size": 4,
                    **build,
                }
            },
        }
    )
    assert parsed.spec is not None, parsed.errors
    return parsed.spec.model_dump(mode="json")


@dataclass
class Supervisor:
    """Runs steps in one folder and notes what it hears."""

    folder: Path
    roots: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    lease: str = field(default_factory=lambda: f"build/{uuid4().hex[:8]}/1")
    progress: list[Progress] = field(default_factory=list)
    log: bytes = b""
    beats: int = 0

    @property
    def instance(self) -> str:
        return str(self.folder)

    def job(
        self, step: str, spec: Mapping[str, Any], *, python: str = sys.executable, **inputs: Path
    ) -> Path:
        job = Job(
            build_id="b1",
            attempt=1,
            spec=spec,
            inputs={name: str(path) for name, path in inputs.items()},
            output_dir=str(self.folder / "tmp" / step),
            python=python,
            options={
                "local_checkpoint_roots": list(self.roots),
                "artifact_url": (self.folder / "artifacts").as_uri(),
                "cpu_threads": 1,
                "memory_bytes": 2_000_000_000,
                **self.options,
            },
        )
        path = self.folder / f"{step}.json"
        job.write(path)
        return path

    def command(self, step: str, job_path: Path, **changes: Any) -> StepCommand:
        return StepCommand(
            step=step, job_path=job_path, lease=self.lease, instance=self.instance, **changes
        )

    def run(
        self,
        command: StepCommand,
        heartbeat: Callable[[], Verdict] = lambda: Verdict.CONTINUE,
        heartbeat_seconds: float = 0.05,
        clock: Clock = SYSTEM,
    ) -> StepOutcome:
        def beat() -> Verdict:
            self.beats += 1
            return heartbeat()

        return run_step(
            command,
            on_progress=self.progress.append,
            on_log=self._hear,
            heartbeat=beat,
            heartbeat_seconds=heartbeat_seconds,
            clock=clock,
        )

    def marked(self) -> list[Process]:
        """Return the living processes that carry this supervisor's lease."""
        return living(lambda each: environment(each.pid).get(LEASE_VARIABLE) == self.lease)

    def _hear(self, data: bytes) -> None:
        self.log += data


def publish(supervisor: Supervisor, step: str) -> Path:
    final = supervisor.folder / "steps" / step
    outputs.publish(supervisor.folder / "tmp" / step, final)
    return final


def run(supervisor: Supervisor, step: str, spec: dict[str, Any], **inputs: Path) -> StepOutcome:
    return supervisor.run(supervisor.command(step, supervisor.job(step, spec, **inputs)))


def finished(supervisor: Supervisor, step: str, spec: dict[str, Any], **inputs: Path) -> Path:
    outcome = run(supervisor, step, spec, **inputs)
    assert outcome.kind is OutcomeKind.FINISHED, (outcome, supervisor.log.decode())
    final = publish(supervisor, step)
    assert outputs.read(final).values == json.loads(json.dumps(outcome.values))
    return final


@dataclass(frozen=True)
class Packaged:
    """A build of the tiny checkpoint, done up to its smoke test."""

    spec: dict[str, Any]
    folders: dict[str, Path]
    artifact_url: str

    def smoke_test_job(self, supervisor: Supervisor, python: str = sys.executable) -> Path:
        """Return the job of the step that is left, in another supervisor's folder."""
        supervisor.options["artifact_url"] = self.artifact_url
        return supervisor.job("smoke_test", self.spec, python=python, **self.folders)


def package(supervisor: Supervisor, spec: dict[str, Any]) -> Packaged:
    """Run every step before the smoke test."""
    folders: dict[str, Path] = {}
    for step in ("fetch", "inspect", "package"):
        folders[step] = finished(supervisor, step, spec, **folders)
    return Packaged(spec, folders, (supervisor.folder / "artifacts").as_uri())
