"""What a step is asked to do: the JOB.json that the supervisor writes and the child reads."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from controlplane.artifacts import ArtifactStore
from controlplane.artifacts.durable import write_atomically
from workers.build_steps.options import JobOptions

FORMAT = 1
MODEL_FOLDER = "model"
"""Where the checkpoint lies below what a step made."""
_ACCEPTED_FORMATS = frozenset({FORMAT})


class UnknownJobFormat(ValueError):
    """The job was written by a release that this one does not understand."""


class Job(BaseModel):
    """One step of one attempt of one build; fields of a newer release are ignored."""

    model_config = ConfigDict(frozen=True)

    build_id: str
    attempt: int
    spec: Mapping[str, Any]
    """The dump of a Spec."""
    inputs: Mapping[str, str]
    """Step name -> absolute path of its published output."""
    output_dir: str
    """Where this step writes; published by the supervisor, by rename."""
    options: JobOptions = JobOptions()
    python: str = sys.executable
    """The interpreter that an engine is started with."""
    format: int = FORMAT
    secrets: Mapping[str, str] = Field(default={}, repr=False, exclude=True)
    """Read from a pipe by the child; never a part of the stored form."""
    store_variables: Mapping[str, str] = Field(default={}, repr=False, exclude=True)
    """The login to the artifact store, of a step that needs it; comes as the secrets do."""

    @property
    def output(self) -> Path:
        return Path(self.output_dir)

    def input(self, step: str) -> Path:
        return Path(self.inputs[step])

    def with_secrets(self, secrets: Mapping[str, str]) -> "Job":
        return self.model_copy(update={"secrets": secrets})

    def store(self) -> ArtifactStore:
        return ArtifactStore.open(self.options.artifact_url, variables=self.store_variables)

    def with_store_variables(self, variables: Mapping[str, str]) -> "Job":
        return self.model_copy(update={"store_variables": variables})

    def write(self, path: Path) -> None:
        """Store the job, without secrets."""
        write_atomically(path, self.model_dump_json(indent=1).encode())


def read_job(path: Path) -> Job:
    """Return the stored job. Raises UnknownJobFormat."""
    stored = json.loads(path.read_bytes())
    if stored.get("format") not in _ACCEPTED_FORMATS:
        raise UnknownJobFormat(f"{path}: job format `{stored.get('format')}` is not known here")
    return Job.model_validate(stored)
