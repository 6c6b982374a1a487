"""Engines that go on serving when all else on this machine has stopped, and how they end.

Their agent left a folder for each. The number of a process alone may by now be another's, so that
its start is compared as well.
"""

import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

_STATE_FIELD, _START_FIELD = 0, 19  # counted after the name, which may hold spaces
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, kw_only=True)
class EngineLeft:
    replica_id: str
    model: str
    pid: int
    held_bytes: int

    def ask_to_end(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)


def engines_left(data_dir: Path) -> Sequence[EngineLeft]:
    folders = (data_dir / "agent" / "replicas").glob("*.*")
    return [engine for folder in sorted(folders) if (engine := _engine_of(folder)) is not None]


def words_of(engines: Sequence[EngineLeft]) -> list[str]:
    """Return what a person is told of engines that were left; nothing where none was."""
    if not engines:
        return []
    gigabytes = sum(each.held_bytes for each in engines) / 1e9
    many = "1 engine goes on" if len(engines) == 1 else f"{len(engines)} engines go on"
    return [
        f"{many} serving and hold{'s' if len(engines) == 1 else ''} about {gigabytes:.1f} GB of "
        "memory:",
        *(f"  {each.model}, replica {each.replica_id}, process {each.pid}" for each in engines),
        "the next start takes up what is left; to end it now: python manage.py stop_engines",
        "to end engines with all else: python manage.py up --stop-engines",
    ]


def _engine_of(folder: Path) -> EngineLeft | None:
    runner = _read(folder / "runner.json")
    pid = int(runner.get("pid", 0))
    if not _is_of_this_run(runner) or _start_ticks(pid) != runner.get("start_ticks"):
        return None
    if (folder / "exit.json").exists():
        return None
    desired = _read(folder / "wanted.json")
    return EngineLeft(
        replica_id=folder.name.rpartition(".")[0],
        model=str(desired.get("served_model_name") or desired.get("runtime") or "an engine"),
        pid=pid,
        held_bytes=_resident_bytes(pid),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _start_ticks(pid: int) -> int | None:
    """Return when the process began; None of one that has ended and waits for its parent."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[_STATE_FIELD] in "ZX" else int(fields[_START_FIELD])


def _is_of_this_run(runner: Mapping[str, Any]) -> bool:
    return bool(runner.get("boot_id") == _BOOT_ID.read_text().strip())


def _resident_bytes(pid: int) -> int:
    total = 0
    with suppress(psutil.Error):
        for process in [root := psutil.Process(pid), *root.children(recursive=True)]:
            with suppress(psutil.Error):
                total += process.memory_info().rss
    return total
