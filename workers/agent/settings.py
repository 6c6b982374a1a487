"""The agent's settings, read once from the environment; the same names as the control plane's."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from controlplane.artifacts import ArtifactFailure, store_variables
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.runtime import variables_of
from workers import gates
from workers.runtimes.ports import PortRange, ports_below_the_kernels, read_ports

_PASSED_ON = (
    "PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH",
    "LD_LIBRARY_PATH", "CUDA_HOME", "XDG_CACHE_HOME", gates.VARIABLE,
    "ARTIFACT_URL", "CUDA_DEVICE_ORDER", *variables_of(RUNTIMES.values()),
    "ENGINE_CACHE_DIR", "ENGINE_CONTAINER_WRITABLE",
    "DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
)  # fmt: skip
"""All that engines see of the agent's environment: none of it is secret."""


class WrongSetting(Exception):
    """A setting that cannot be worked with; the text names the variable."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What one agent knows before it has spoken to anyone."""

    control_plane_url: str
    broker_url: str
    data_dir: Path
    node_name: str
    node_address: str
    engine_ports: PortRange
    """Those that engines here listen on; gateways ask at no other."""
    enrollment_token: str
    engine_python: str
    threads: int
    drain_seconds: float
    start_seconds: float
    stop_engines_on_exit: bool
    passed_on: Mapping[str, str]
    copies_bytes: int | None
    """What copies of artifacts may take here together; None drops those unused for a day."""
    store_variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What opens the artifact store: for what prepares a replica, never for its engine."""

    @property
    def home(self) -> Path:
        """The agent's own folder."""
        return self.data_dir / "agent"

    @property
    def replicas(self) -> Path:
        return self.home / "replicas"

    @property
    def models(self) -> Path:
        return self.home / "models"

    @property
    def locks(self) -> Path:
        return self.home / "locks"


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings. Raises WrongSetting."""
    root = Path(__file__).resolve().parent.parent.parent
    name = environment.get("NODE_NAME") or os.uname().nodename
    return Settings(
        control_plane_url=_url(environment, "CONTROL_PLANE_URL", "http://127.0.0.1:8000"),
        broker_url=environment.get("BROKER_URL", ""),
        data_dir=Path(environment.get("DATA_DIR") or root / ".data").expanduser().absolute(),
        node_name=name,
        node_address=environment.get("NODE_ADDRESS") or "127.0.0.1",
        engine_ports=_ports(environment),
        enrollment_token=environment.get("ENROLLMENT_TOKEN", ""),
        engine_python=environment.get("ENGINE_PYTHON") or sys.executable,
        threads=_number(environment, "ENGINE_CPU_THREADS", 0) or free_cores(),
        drain_seconds=_number(environment, "ENGINE_DRAIN_SECONDS", 30),
        start_seconds=_number(environment, "ENGINE_START_SECONDS", 1200),
        stop_engines_on_exit=environment.get("AGENT_STOP_ENGINES_ON_EXIT", "0") == "1",
        passed_on=_passed_on(environment, root),
        copies_bytes=_number(environment, "ARTIFACT_CACHE_BYTES", 0) or None,
        store_variables=_store_variables(environment),
    )


def _store_variables(environment: Mapping[str, str]) -> Mapping[str, str]:
    try:
        return store_variables(environment)
    except ArtifactFailure as failed:
        raise WrongSetting(f"{failed} {failed.failure.hint}") from None


def free_cores(control_groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many cores this process may really use: its affinity within its quota."""
    cores = len(os.sched_getaffinity(0))
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((control_groups / name).read_text() for name in names).split()
            if int(quota) > 0:
                cores = min(cores, int(quota) // int(period))
        except (OSError, ValueError):
            pass  # no control group of this kind, or one without a quota
    return max(1, cores)


def _passed_on(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    kept = {name: environment[name] for name in _PASSED_ON if name in environment}
    # Runners start in folders of their own and still have to find this code.
    paths = [str(root), *kept.get("PYTHONPATH", "").split(os.pathsep)]
    kept["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    return kept


def _url(environment: Mapping[str, str], name: str, default: str) -> str:
    text = environment.get(name) or default
    if urlsplit(text).scheme not in {"http", "https"}:
        raise WrongSetting(f"{name}: `{text}` is not an http:// or https:// address.")
    return text.rstrip("/")


def _ports(environment: Mapping[str, str]) -> PortRange:
    text = environment.get("ENGINE_PORTS")
    if not text:
        return ports_below_the_kernels()
    try:
        return read_ports(text)
    except ValueError as error:
        raise WrongSetting(f"ENGINE_PORTS: {error}") from None


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name) or str(default)
    if not text.isdecimal():
        raise WrongSetting(f"{name}: `{text}` is not a whole number.")
    return int(text)
