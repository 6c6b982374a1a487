"""How often the kernel has killed for want of memory, where it tells."""

from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_EVENTS = "memory.events"


def oom_kills(*, process_cgroup: Path = Path("/proc/self/cgroup"), root: Path = _CGROUPS) -> int:
    """Return the count of this process's control group, or of the whole machine without one.

    The machine's count also rises for kills in other groups, so it is the second choice.
    """
    own = _own_events(process_cgroup, root)
    return _count(own) if own is not None else _count(Path("/proc/vmstat"))


def _own_events(process_cgroup: Path, root: Path) -> Path | None:
    try:
        lines = process_cgroup.read_text().splitlines()
    except OSError:
        return None
    unified = (line.removeprefix("0::/") for line in lines if line.startswith("0::/"))
    files = [root / path / _EVENTS for path in unified]
    return next((path for path in files if path.is_file()), None)


def _count(path: Path) -> int:
    try:
        words = path.read_text().split()
    except OSError:
        return 0
    return int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else 0
