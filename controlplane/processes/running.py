"""The note that `manage.py up` leaves in the data folder about the servers that it started."""

import json
from dataclasses import dataclass
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
