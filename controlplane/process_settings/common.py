"""What several kinds of processes read."""

import os
from pathlib import Path

from controlplane.process_settings.base import ProcessSettings, variable
from controlplane.process_settings.kinds import Folder, HttpUrl, Listen, LogLevel

ROOT = Path(__file__).resolve().parents[2]

PLACES = "Where things are"
INSTALLATION = "Secrets of this installation"
CHECKPOINTS_AND_BUILDS = "Checkpoints and builds"
HOSTS = "Hosts that serve"
ALERTS = "Alerts"
LOGS = "Logs"
GROUPS = (PLACES, INSTALLATION, CHECKPOINTS_AND_BUILDS, HOSTS, ALERTS, LOGS)


class CommonSettings(ProcessSettings):
    """Of every process."""

    group = PLACES
    read_by = "all"

    data_dir: Folder = variable("DATA_DIR", ROOT / ".data", shown="`.data` in the source tree")
    """Folder for everything that is kept on this machine."""

    broker_url: str = variable("BROKER_URL", "", shown="embedded Valkey", is_secret=True)
    """`redis://:password@host:6379/0`; Redis and Valkey both work."""

    log_level: LogLevel = variable("LOG_LEVEL", "INFO", group=LOGS)
    """`DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`."""


class TracedSettings(CommonSettings):
    """Of what tells a collector what took how long."""

    group = LOGS
    read_by = "gateway, workers, agent"

    traces_url: HttpUrl | None = variable("TRACES_URL", None, shown="no traces")
    """A collector of OpenTelemetry that takes OTLP over HTTP, such as `http://collector:4318`:
    requests, what engines do with them and steps of builds are told to it. Needs
    `enginehouse[traces]`."""


class MeasuredSettings(CommonSettings):
    """Of what has a page of metrics beside its work."""

    group = LOGS
    read_by = "workers, agent"

    metrics_listen: Listen = variable("METRICS_LISTEN", "127.0.0.1:9471-9479")
    """Where agent and workers serve `/metrics` to a Prometheus: the first of these ports that is
    free. No key is asked for, so only this host may read it unless an address of the host stands
    here. Empty: nowhere."""


class NodeSettings(CommonSettings):
    """Of what runs on a host that is known by its name."""

    group = HOSTS
    read_by = "workers, agent, gateway"

    node_name: str = variable(
        "NODE_NAME", default_factory=lambda: os.uname().nodename, shown="the host's name"
    )
    """How this host is known. No other host may have it: who enrolls last takes its place."""


class EnrolledSettings(NodeSettings):
    """Of what enrolls with the control plane."""

    group = HOSTS
    read_by = "agent, gateway"

    node_address: str = variable("NODE_ADDRESS", "127.0.0.1")
    """Address under which gateways reach this host's engines."""

    enrollment_token: str = variable("ENROLLMENT_TOKEN", "", group=INSTALLATION, is_secret=True)
    """The one-time token for the first start on a host."""
