"""The agent's settings, read once from the environment; the same names as the control plane's."""

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from controlplane.artifacts import ArtifactFailure, store_variables
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.device_links import DEVICE_LINKS
from controlplane.domain.runtimes.runtime import variables_of
from controlplane.process_settings.agent import AgentVariables
from controlplane.process_settings.common import ROOT
from controlplane.process_settings.wrong import WrongSetting
from workers import gates
from workers.runtimes.ports import PortRange, ports_below_the_kernels, read_ports

_PASSED_ON = (
    "PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH",
    "LD_LIBRARY_PATH", "CUDA_HOME", "XDG_CACHE_HOME", gates.VARIABLE,
    "ARTIFACT_URL", "CUDA_DEVICE_ORDER", *DEVICE_LINKS, *variables_of(RUNTIMES.values()),
    "TRACES_URL", "ENGINE_CACHE_DIR", "ENGINE_CONTAINER_WRITABLE",
    "DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
)  # fmt: skip
"""All that engines see of the agent's environment: none of it is secret."""


class Settings(AgentVariables):
    ports: PortRange
    """Those that engines here listen on; gateways ask at no other."""
    threads: int
    passed_on: Mapping[str, str]
    store_variables: Mapping[str, str] = Field(default={}, repr=False)
    """What opens the artifact store: for what prepares a replica, never for its engine."""

    @property
    def copies_bytes(self) -> int | None:
        """What copies of artifacts may take here together; None drops those unused for a day."""
        return self.artifact_cache_bytes or None

    @property
    def home(self) -> Path:
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
    given = AgentVariables.read(environment)
    return Settings(
        **dict(given),
        ports=_ports(given.engine_ports),
        threads=given.engine_cpu_threads or free_cores(),
        passed_on=_passed_on(environment, ROOT),
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


def _ports(text: str) -> PortRange:
    if not text:
        return ports_below_the_kernels()
    try:
        return read_ports(text)
    except ValueError as error:
        raise WrongSetting(f"ENGINE_PORTS: {error}") from None
