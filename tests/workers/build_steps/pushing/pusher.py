"""A real push, in a real child or in this process, of a small artifact."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from controlplane.artifacts import ArtifactFailure, ArtifactStore, Manifest
from controlplane.domain.failures import Failure
from controlplane.sources import SourceFailure
from tests.artifacts.places import FolderPlace
from workers.build_steps.child import OutcomeKind, StepCommand, StepOutcome, Verdict, run_step
from workers.build_steps.events import Events, Progress
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import Job
from workers.build_steps.options import JobOptions
from workers.build_steps.push import run

TOKEN = "hf_canary_of_the_push"
WEIGHTS = b"weights" * 100_000
FILES = {
    "config.json": b'{"model_type": "llama"}',
    "empty.txt": b"",
    "model.safetensors": WEIGHTS,
    "nested/model.safetensors": b"more" * 1000,
}
FAILURES = (ArtifactFailure, SourceFailure, StepFailure)


class Pusher:
    """An artifact in a store, and pushes of it with everything noted that came out of them."""

    def __init__(
        self, folder: Path, options: dict[str, Any], files: dict[str, bytes] = FILES
    ) -> None:
        self.place = FolderPlace(folder / "artifacts")
        self.folder = folder
        self.options = options
        self.progress: list[Progress] = []
        self.log = b""
        self.digest = self.publish(files)

    def publish(self, files: dict[str, bytes]) -> str:
        source = self.folder / "source"
        shutil.rmtree(source, ignore_errors=True)
        for path, content in files.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_bytes(content)
        return ArtifactStore.open(self.place.url).publish(source, {}).content_digest

    @property
    def manifest(self) -> Manifest:
        return ArtifactStore.open(self.place.url).manifest(self.digest)

    def job(self, destination: str, *, private: bool) -> Job:
        order = {
            "content_digest": self.digest,
            "destination": destination,
            "secret_name": "upload",
            "private": private,
            "base_model": "org/base",
            "quantization_type": "fp8",
        }
        return Job(
            build_id="b",
            attempt=1,
            spec={},
            inputs={},
            output_dir=str(self.folder / "output"),
            options=JobOptions.model_validate(
                {"artifact_url": self.place.url, "push": order, **self.options}
            ),
        )

    def push(
        self,
        destination: str,
        *,
        secret: str = TOKEN,
        beat: Callable[[], Verdict] = lambda: Verdict.CONTINUE,
    ) -> StepOutcome:
        self.job(destination, private=True).write(self.folder / "job.json")
        command = StepCommand(
            step="push",
            job_path=self.folder / "job.json",
            lease="push/p/1",
            instance=str(self.folder),
            secrets={"upload": secret},
            environment={"HF_HUB_DISABLE_XET": "1"},
        )
        return run_step(
            command,
            on_progress=self.progress.append,
            on_log=self._note,
            heartbeat=beat,
            heartbeat_seconds=0.1,
        )

    def push_here(
        self, destination: str, *, secret: str | None = TOKEN, private: bool = True
    ) -> Mapping[str, Any]:
        """What it tells, carried out in this process: a child costs a second of imports."""
        job = self.job(destination, private=private)
        job = job.with_secrets({"upload": secret} if secret else {})
        job.output.mkdir(exist_ok=True)
        with Path(os.devnull).open("wb") as sink:
            return run(job, Events(sink.fileno())).values

    def refusal(
        self, destination: str, *, secret: str | None = TOKEN, private: bool = True
    ) -> Failure:
        """Why a push fails."""
        with pytest.raises(FAILURES) as caught_error:
            self.push_here(destination, secret=secret, private=private)
        failure: Failure = caught_error.value.failure
        assert "{" not in failure.sentence
        return failure

    def _note(self, data: bytes) -> None:
        self.log += data


def values_of(outcome: StepOutcome, pusher: Pusher) -> dict[str, Any]:
    assert outcome.kind is OutcomeKind.FINISHED, (outcome, pusher.log.decode())
    return outcome.values or {}


def code_of(outcome: StepOutcome) -> str:
    assert outcome.kind is OutcomeKind.FAILED, outcome
    assert outcome.failure is not None
    assert "{" not in outcome.failure.sentence
    return outcome.failure.code
