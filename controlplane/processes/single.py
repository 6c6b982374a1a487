"""The lock that keeps two `manage.py up` off one data folder."""

import fcntl
import os
from pathlib import Path
from typing import IO


class AlreadyRunning(Exception):
    """Another `manage.py up` holds the data folder; the message names its process."""


def hold_data_dir(data_dir: Path) -> IO[str]:
    """Return the held lock file; it is let go when closed or when the process ends."""
    path = data_dir / "run" / "up.lock"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = path.open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise AlreadyRunning(
            f"Enginehouse already runs on {data_dir} (process {holder}); "
            "stop it first, or name another folder with DATA_DIR."
        ) from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file
