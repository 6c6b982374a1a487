"""What a step is asked to do: the JOB.json that the supervisor writes and the child reads."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from controlplane.artifacts import ArtifactStore
from controlplane.artifacts.durable import write_atomically

FORMAT = 1
MODEL_FOLDER = "model"
"""Where the checkpoint lies below what a step made."""
_ACCEPTED_FORMATS = frozenset({FORMAT})


class UnknownJobFormat(ValueError):
    """The job was written by a release that this one does not understand."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One step of one attempt of one build."""

    build_id: str
    attempt: int
    spec: Mapping[str, Any]
    """The dump of a Spec."""
    inputs: Mapping[str, str]
    """Step name -> absolute path of its published output."""
    output_dir: str
    """Where this step writes; published by the supervisor, by rename."""
    options: Mapping[str, Any] = field(default_factory=dict)
    python: str = sys.executable
    """The interpreter that an engine is started with."""
    format: int = FORMAT
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Read from a pipe by the child; never a part of the stored form."""
    store_variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The login to the artifact store, of a step that needs it; comes as the secrets do."""

    @property
    def output(self) -> Path:
        """The folder to write to."""
        return Path(self.output_dir)

    def input(self, step: str) -> Path:
        """Return the published output of an earlier step."""
        return Path(self.inputs[step])

    def with_secrets(self, secrets: Mapping[str, str]) -> "Job":
        """Return the job with the values that its spec names."""
        return replace(self, secrets=secrets)

    def store(self) -> ArtifactStore:
        """Return the artifact store of this job."""
        return ArtifactStore.open(self.options["artifact_url"], variables=self.store_variables)

    def with_store_variables(self, variables: Mapping[str, str]) -> "Job":
        """Return the job with what opens its artifact store."""
        return replace(self, store_variables=variables)

    def write(self, path: Path) -> None:
        """Store the job, without secrets."""
        stored = asdict(self)
        del stored["secrets"], stored["store_variables"]
        write_atomically(path, json.dumps(stored, indent=1).encode())


def read_job(path: Path) -> Job:
    """Return the stored job; fields of a newer release are ignored."""
    stored = json.loads(path.read_bytes())
    if stored.get("format") not in _ACCEPTED_FORMATS:
        raise UnknownJobFormat(f"{path}: job format `{stored.get('format')}` is not known here")
    known = set(Job.__dataclass_fields__) - {"secrets", "store_variables"}
    return Job(**{name: value for name, value in stored.items() if name in known})
