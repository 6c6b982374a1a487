"""The rows of a task of the user's own, pinned by their digest."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.json_text import read_json
from workers.build_steps.calibration.dataset import OpenDataset, Places
from workers.build_steps.calibration.names import Kind, find_dataset
from workers.build_steps.gating import failures

Row = Mapping[str, Any]


def read_task_rows(task: str, name: str, places: Places) -> tuple[Sequence[Row], str]:
    """Return the rows in order and the revision; raises StepFailure for what is no such file."""
    dataset = find_dataset(name, roots=places.sources.local_checkpoint_roots, kept=places.kept)
    if dataset.kind is not Kind.FILE or dataset.path is None or dataset.path.suffix != ".jsonl":
        raise failures.bad_rows(task, name, "it is no .jsonl file")
    revision = OpenDataset(name, places).identity.revision
    lines = dataset.path.read_bytes().splitlines()
    rows = [_row(task, name, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise failures.bad_rows(task, name, "it is empty")
    return rows, revision


def _row(task: str, name: str, number: int, line: bytes) -> Row:
    try:
        row = read_json(line)
    except UnicodeDecodeError as error:
        raise failures.bad_rows(task, name, f"line {number} is not UTF-8") from error
    except ValueError as error:
        raise failures.bad_rows(task, name, f"line {number} is no JSON ({error})") from error
    if not isinstance(row, dict):
        raise failures.bad_rows(task, name, f"line {number} is no object")
    return row
