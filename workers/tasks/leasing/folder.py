import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings
from django.db import InterfaceError, OperationalError

from apps.leases.lease import Lease
from apps.leases.services import lease_stands
from controlplane.clock import SYSTEM, Clock

_LEFT_BEHIND_SECONDS = 86_400.0


@contextmanager
def lease_folder(lease: Lease, *, under: str, clock: Clock = SYSTEM) -> Iterator[Path]:
    """Give a folder of this lease's own, gone afterwards; also what killed workers left."""
    root: Path = settings.DATA_DIR / under
    folder = root / f"{lease.id}.{lease.token}"
    folder.mkdir(parents=True, exist_ok=True)
    # What a database that is away cannot tell, the next one tidies.
    with suppress(OperationalError, InterfaceError):
        _remove_left_behind(lease, root, clock)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left_behind(lease: Lease, root: Path, clock: Clock) -> None:
    for other in root.iterdir():
        # Another worker may end its own just now.
        with suppress(FileNotFoundError):
            is_old = clock.time() - other.stat().st_mtime > _LEFT_BEHIND_SECONDS
            if is_old and not _is_in_use(lease, other.name):
                shutil.rmtree(other, ignore_errors=True)


def _is_in_use(lease: Lease, name: str) -> bool:
    id, _, token = name.rpartition(".")
    return token.isdecimal() and lease_stands(kind=lease.kind, id=id, token=int(token))
