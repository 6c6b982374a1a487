"""The note that `manage.py up` leaves in the data folder about the servers that it started."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class RunningServices:
    """Addresses of what runs on this data folder; empty text where nothing does."""

    database_url: str = ""
    broker_url: str = ""
    public_url: str = ""
    gateway_url: str = ""


def note_path(data_dir: Path) -> Path:
    """Return where the note lies, present only while `manage.py up` runs."""
    return data_dir / "run" / "services.json"


def running_services(data_dir: Path) -> RunningServices:
    """Return the addresses in the note, or empty ones without a readable note."""
    try:
        content = json.loads(note_path(data_dir).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return RunningServices()
    known = RunningServices.__dataclass_fields__
    return RunningServices(**{key: str(content[key]) for key in known if key in content})


def write_note(data_dir: Path, services: RunningServices) -> None:
    """Put the note in place in one move, readable by its owner alone: it holds passwords."""
    path = note_path(data_dir)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(".draft")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(asdict(services), indent=1))
    draft.replace(path)


def remove_note(data_dir: Path) -> None:
    """Take the note away; a missing one is fine."""
    note_path(data_dir).unlink(missing_ok=True)
