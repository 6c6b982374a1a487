"""What a runner is told of its host: locks, ports, folders, limits."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from workers.agent.folders import ReplicaFolder
from workers.agent.settings import Settings


def run_record(
    folder: ReplicaFolder, desired: Mapping[str, Any], settings: Settings
) -> dict[str, Any]:
    """Return what a replica's runner reads as `run`."""
    devices = [str(uuid) for uuid in desired.get("devices", ())]
    # A CPU is shared: only the replica itself must not run twice.
    names = [uuid for uuid in devices if not uuid.startswith("CPU-")]
    names = names or [f"replica-{folder.replica_id}"]
    return {
        "locks": [str(settings.locks / f"{_safe(name)}.lock") for name in names],
        "prepare": [sys.executable, "-m", "workers.agent.prepare", str(folder.path)],
        "drain_seconds": settings.engine_drain_seconds,
        "models_dir": str(settings.models),
        "copies_bytes": settings.copies_bytes,
        "host": settings.node_address,
        "ports": list(settings.ports),
        "python": settings.engine_python,
        "threads": settings.threads,
    }


def _safe(name: str) -> str:
    return name.replace(os.sep, "_")
