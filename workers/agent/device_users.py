"""Who is on a GPU, as far as this host shows it."""

import pwd
from pathlib import Path

from controlplane.domain.device_users import DeviceUser
from workers.agent.folders import LEASE_VARIABLE

_PROC = Path("/proc")
_ENDED = "ZX"


def device_user(pid: int, held_bytes: int | None) -> DeviceUser:
    status = _status(pid)
    return DeviceUser(
        pid=pid,
        held_bytes=held_bytes,
        name=status.get("Name", "")[:64],
        user=_user(status["Uid"].split()[0])[:64] if "Uid" in status else "",
        is_ours=_is_ours(pid),
        # Its environment is gone by then, and with it the mark that tells whose it was.
        has_ended=status.get("State", " ")[0] in _ENDED,
    )


def _status(pid: int) -> dict[str, str]:
    try:
        lines = (_PROC / str(pid) / "status").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in pairs}


def _user(number: str) -> str:
    try:
        return pwd.getpwuid(int(number)).pw_name
    except KeyError:
        return number


def _is_ours(pid: int) -> bool:
    try:
        return f"{LEASE_VARIABLE}=".encode() in (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
