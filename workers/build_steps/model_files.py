"""The files of a step's model: as it published them, as they are now, as the gate measured them."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from controlplane.artifacts import FileEntry, content_digest, describe
from workers.build_steps import outputs
from workers.build_steps.events import Events
from workers.build_steps.failures import changed_output, not_measured
from workers.build_steps.job import MODEL_FOLDER, Job

_MEASURED_FILE = "measured.json"
"""In the output of the gate."""


def published_files(step_folder: Path) -> tuple[FileEntry, ...]:
    prefix = f"{MODEL_FOLDER}/"
    return tuple(
        FileEntry(**asdict(each) | {"path": each.path.removeprefix(prefix)})
        for each in outputs.read(step_folder).files
        if each.path.startswith(prefix)
    )


def hash_again(job: Job, step: str, events: Events) -> tuple[FileEntry, ...]:
    """Return the files as they are on the disk now, refused when they are not the step's."""
    made = published_files(job.input(step))
    files = describe(job.input(step) / MODEL_FOLDER, counting(made, events))
    if changed := _differing(made, files):
        raise changed_output(step, [f"{MODEL_FOLDER}/{each}" for each in changed])
    return files


def counting(files: Sequence[FileEntry], events: Events) -> Callable[[int], None]:
    """Return what tells how much of the files has been gone through, of each count of bytes."""
    total = sum(each.size_bytes for each in files)
    done = 0

    def add(count: int) -> None:
        nonlocal done
        done += count
        events.progress(done, total, "bytes")

    return add


def note_measured(files: Sequence[FileEntry], gate_folder: Path) -> str:
    """Keep in the gate's output what it looks at; return the digest of it all."""
    stored = json.dumps([asdict(each) for each in files], indent=1)
    (gate_folder / _MEASURED_FILE).write_text(stored)
    return content_digest(files)


def refuse_unmeasured(files: Sequence[FileEntry], gate_folder: Path) -> None:
    """Raise StepFailure that names the first file that is not the one that the gate measured."""
    if changed := _differing(_measured(gate_folder), files):
        raise not_measured([f"{MODEL_FOLDER}/{each}" for each in changed])


def was_measured(step_folder: Path, gate_folder: Path) -> bool:
    return not _differing(_measured(gate_folder), published_files(step_folder))


def _measured(gate_folder: Path) -> tuple[FileEntry, ...]:
    """Return nothing for a gate of a release that did not note its files."""
    path = gate_folder / _MEASURED_FILE
    stored = json.loads(path.read_bytes()) if path.exists() else ()
    return tuple(FileEntry(**each) for each in stored)


def _differing(some: Iterable[FileEntry], others: Iterable[FileEntry]) -> list[str]:
    expected, actual = ({(each.path, each.sha256) for each in files} for files in (some, others))
    return sorted({path for path, _ in expected ^ actual})
