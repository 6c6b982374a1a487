"""How this process is set up: the environment, then the command line."""

import argparse
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.process_settings.gateway import GatewayVariables
from controlplane.process_settings.wrong import WrongSetting

MEBIBYTE = 1024 * 1024
SYSTEMD_FIRST_FD = 3


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
    wake_seconds: float = 600.0
    """How long a request waits for a deployment that wakes up. Source: the hosted product's time
    limit of `wake`."""
    waiting_requests: int = 1024
    """So many may wait for one deployment that wakes up, with bodies of no more than this:"""
    waiting_bytes: int = 128 * MEBIBYTE
    upstream_idle_seconds: float = 4.0
    """Below the 5 s after which vLLM and TensorRT-LLM close an idle connection."""
    eject_seconds: float = 1.0
    slow_start_seconds: float = 10.0
    """In which a replica that comes beside others grows to its whole share."""
    drain_seconds: float = 8.0
    """Below the 10 s that `manage.py up` gives a process to stop."""
    last_shipment_seconds: float = 3.0
    """How long a gateway that stops tries to hand in its usage."""
    honour_routes_seconds: float = 24 * 3600.0
    """How long routes and keys hold that the control plane has not confirmed since."""
    moves_unanswered: bool = True
    """Whether what a stopped engine had is asked of another, where nothing of an answer came."""


class Settings(GatewayVariables):
    """The environment's, then the command line's."""

    host: str = "127.0.0.1"
    port: int = 8001
    inherited_socket: bool = False
    process: int = 0
    """Which process of a group this is, from 1; 0 where there is no group, or it leads one."""
    poll_seconds: float = 1.0
    ship_seconds: float = 1.0
    bounds: Bounds = Bounds()

    @property
    def leads(self) -> bool:
        """Whether it serves nothing itself, but keeps the processes alive that do."""
        return self.processes > 1 and self.process == 0

    @property
    def counts_dir(self) -> Path | None:
        """Where processes of a group tell each other what they counted; None where they do not.

        One that is asked at a port of its own tells of itself alone.
        """
        if self.process == 0 or self.metrics_port is not None:
            return None
        base = self.data_dir if self.process == 1 else self.data_dir.parent
        return base / "counts"


def read_settings(arguments: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """Return the settings. Raises WrongSetting."""
    options = _parser().parse_args(arguments)
    given = GatewayVariables.read(environ)
    return Settings(
        **(dict(given) | _own_place(given, options.process)),
        process=options.process,
        host=options.host,
        port=options.port,
        inherited_socket=environ.get("LISTEN_FDS") == "1",
        poll_seconds=options.poll_seconds,
        ship_seconds=options.ship_seconds,
        bounds=Bounds(
            first_byte_seconds=options.first_byte_seconds,
            idle_seconds=options.idle_seconds,
            total_seconds=options.total_seconds,
            hold_seconds=options.hold_seconds,
            wake_seconds=options.wake_seconds,
            drain_seconds=options.drain_seconds,
            last_shipment_seconds=options.last_shipment_seconds,
            honour_routes_seconds=given.routes_hours * 3600,
            moves_unanswered=given.moves_unanswered,
            waiting_requests=given.waiting_requests,
        ),
    )


def _own_place(given: GatewayVariables, process: int) -> dict[str, Any]:
    """Return what a process of a group has for itself: its folder, its name and its token.

    The first has what a gateway without a group has, so that one becomes several and back.
    """
    tokens = given.enrollment_token.split(",")
    number = max(1, process)
    own: dict[str, Any] = {"enrollment_token": tokens[number - 1] if number <= len(tokens) else ""}
    if number > 1:
        own["data_dir"] = given.data_dir / f"gateway-{number}"
        own["node_name"] = f"{given.node_name}-{number}"
    return own


def listening_socket(settings: Settings) -> socket.socket:
    """Return the socket to serve on: the inherited one, else a new one. Raises WrongSetting."""
    if settings.inherited_socket:
        os.environ.pop("LISTEN_FDS", None)
        return socket.socket(fileno=SYSTEMD_FIRST_FD)
    return _bound(settings, settings.port, "Pass --port.")


def metrics_socket(settings: Settings) -> socket.socket | None:
    """Return the socket on which this process tells its own metrics, if any. Raises WrongSetting.

    At the address that a group shares, whichever process takes the connection answers.
    """
    if settings.metrics_port is None:
        return None
    port = settings.metrics_port + max(1, settings.process) - 1
    return _bound(settings, port, "Set GATEWAY_METRICS_PORT to another.")


def _bound(settings: Settings, port: int, what_to_do: str) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((settings.host, port))
    except OSError as error:
        listener.close()
        where = f"{settings.host}:{port}"
        raise WrongSetting(f"Cannot listen on {where}: {error.strerror}. {what_to_do}") from error
    return listener


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="workers.gateway", description="The inference gateway.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--poll-seconds", type=float, default=1.0)
    parser.add_argument("--process", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--ship-seconds", type=float, default=1.0)
    for name, value in (
        ("first-byte-seconds", Bounds.first_byte_seconds),
        ("idle-seconds", Bounds.idle_seconds),
        ("total-seconds", Bounds.total_seconds),
        ("hold-seconds", Bounds.hold_seconds),
        ("wake-seconds", Bounds.wake_seconds),
        ("drain-seconds", Bounds.drain_seconds),
        ("last-shipment-seconds", Bounds.last_shipment_seconds),
    ):
        parser.add_argument(f"--{name}", type=float, default=value)
    return parser
