"""How this process is set up: the environment, then the command line."""

import argparse
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MEBIBYTE = 1024 * 1024
SYSTEMD_FIRST_FD = 3
DEFAULT_DATA_DIR = Path(__file__).resolve().parents[2] / ".data"


class WrongSetting(Exception):
    """The process cannot start; the message names the variable."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Every limit that is not a key's own."""

    body_bytes: int = 100 * 1000 * 1000
    """As in the hosted product."""
    buffered_bytes: int = 512 * MEBIBYTE
    """All request bodies that are in memory at once."""
    head_bytes: int = 64 * 1024
    header_count: int = 128
    answer_header_count: int = 256
    pipelined_bytes: int = 256 * 1024
    write_buffer_bytes: int = 64 * 1024
    head_seconds: float = 30.0
    body_step_bytes: int = 4096
    body_step_seconds: float = 60.0
    """How fast a body must come at the least: a step of so many bytes in so many seconds."""
    keep_alive_seconds: float = 75.0
    connect_seconds: float = 5.0
    first_byte_seconds: float = 1200.0
    idle_seconds: float = 300.0
    """Between two reads of an answer, and while a client takes nothing."""
    total_seconds: float = 3600.0
    hold_seconds: float = 3.0
    """How long a request waits for routes when its last replica just went."""
    upstream_idle_seconds: float = 4.0
    """Below the 5 s after which vLLM and TensorRT-LLM close an idle connection."""
    eject_seconds: float = 1.0
    drain_seconds: float = 8.0
    """Below the 10 s that `manage.py up` gives a process to stop."""
    last_shipment_seconds: float = 3.0
    """How long a gateway that stops tries to hand in its usage."""
    honour_routes_seconds: float = 24 * 3600.0
    """How long routes and keys hold that the control plane has not confirmed since."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    control_plane_url: str
    data_dir: Path
    broker_url: str | None = None
    enrollment_token: str | None = field(default=None, repr=False)
    name: str
    address: str
    host: str = "127.0.0.1"
    port: int = 8001
    inherited_socket: bool = False
    poll_seconds: float = 1.0
    ship_seconds: float = 1.0
    log_level: str = "INFO"
    bounds: Bounds = Bounds()


def read_settings(arguments: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """Return the settings. Raises WrongSetting."""
    options = _parser().parse_args(arguments)
    url = environ.get("CONTROL_PLANE_URL", "")
    if not url.startswith(("http://", "https://")):
        raise WrongSetting(f"CONTROL_PLANE_URL is `{url}`: set it to the web process's URL.")
    return Settings(
        control_plane_url=url,
        data_dir=Path(environ.get("DATA_DIR") or DEFAULT_DATA_DIR),
        broker_url=environ.get("BROKER_URL") or None,
        enrollment_token=environ.get("ENROLLMENT_TOKEN") or None,
        name=environ.get("NODE_NAME") or socket.gethostname(),
        address=environ.get("NODE_ADDRESS") or "127.0.0.1",
        host=options.host,
        port=options.port,
        inherited_socket=environ.get("LISTEN_FDS") == "1",
        poll_seconds=options.poll_seconds,
        ship_seconds=options.ship_seconds,
        log_level=environ.get("LOG_LEVEL") or "INFO",
        bounds=Bounds(
            first_byte_seconds=options.first_byte_seconds,
            idle_seconds=options.idle_seconds,
            total_seconds=options.total_seconds,
            hold_seconds=options.hold_seconds,
            drain_seconds=options.drain_seconds,
            last_shipment_seconds=options.last_shipment_seconds,
            honour_routes_seconds=_hours(environ) * 3600,
        ),
    )


def _hours(environ: Mapping[str, str]) -> float:
    text = environ.get("GATEWAY_ROUTES_HOURS") or "24"
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours < float("inf"):
        raise WrongSetting(f"GATEWAY_ROUTES_HOURS is `{text}`: set it to hours, such as 24 or 0.5.")
    return hours


def listening_socket(settings: Settings) -> socket.socket:
    """Return the socket to serve on: the inherited one, else a new one. Raises WrongSetting."""
    if settings.inherited_socket:
        os.environ.pop("LISTEN_FDS", None)
        return socket.socket(fileno=SYSTEMD_FIRST_FD)
    listener = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        where = f"{settings.host}:{settings.port}"
        raise WrongSetting(f"Cannot listen on {where}: {error.strerror}. Pass --port.") from error
    return listener


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="workers.gateway", description="The inference gateway.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--poll-seconds", type=float, default=1.0)
    parser.add_argument("--ship-seconds", type=float, default=1.0)
    for name, value in (
        ("first-byte-seconds", Bounds.first_byte_seconds),
        ("idle-seconds", Bounds.idle_seconds),
        ("total-seconds", Bounds.total_seconds),
        ("hold-seconds", Bounds.hold_seconds),
        ("drain-seconds", Bounds.drain_seconds),
        ("last-shipment-seconds", Bounds.last_shipment_seconds),
    ):
        parser.add_argument(f"--{name}", type=float, default=value)
    return parser
