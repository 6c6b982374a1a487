"""One machine's Enginehouse from start to stop: servers, schema, processes, addresses."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from controlplane.clock import SYSTEM, Clock
from controlplane.processes import ports, postgres, valkey
from controlplane.processes.engines_left import engines_left, words_of
from controlplane.processes.process_list import Process, processes
from controlplane.processes.running import RunningServices, remove_note, write_note
from controlplane.processes.server import ServerCommand
from controlplane.processes.supervisor import Say, Supervised, Supervisor

_READY_SECONDS = 30.0
_ENROLLING = ("gateway", "agent")
# Engines that end with the agent must have ended before the agent's own grace has.
_SHORT_DRAIN_SECONDS = "8"
_AGENT_GRACE_SECONDS = 20.0


class StartFailed(Exception):
    """The machine could not start; the message is one sentence for the person who ran it."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to start: given addresses are used as they are, empty ones mean an embedded server."""

    data_dir: Path
    database_url: str = ""
    broker_url: str = ""
    public_url: str = ""
    gateway_url: str = ""
    host: str = "127.0.0.1"
    web_port: int = 8000
    gateway_port: int = 8001
    gateway_processes: int = 1
    build_pool: str = "default"
    stop_engines: bool = False


@dataclass
class Machine:
    """Runs a plan until told to stop."""

    plan: Plan
    say: Say
    listeners: dict[str, socket.socket] = field(default_factory=dict)
    valkey_port: socket.socket | None = None
    """Held for it while it is restarted; clients know no other."""
    is_ready: bool = False
    clock: Clock = field(default=SYSTEM, kw_only=True)

    async def run(self, stop: asyncio.Event) -> None:
        """Start everything, keep it alive until `stop` is set, then stop it in reverse order."""
        supervisor = Supervisor(self.say, clock=self.clock)
        try:
            services = await self._start_servers(supervisor)
            # The web process loads its code meanwhile, and waits for the schema by itself.
            await self._start_processes(supervisor, services, self._web())
            tokens = await self._prepare(supervisor, services)
            await self._start_processes(supervisor, services, self._others(), tokens)
            self.is_ready = True
            self.say("up", f"ready: {services.public_url} (endpoints: {services.gateway_url})")
            await stop.wait()
            self.say("up", "stopping")
        finally:
            await supervisor.stop()
            remove_note(self.plan.data_dir)
            for line in words_of(engines_left(self.plan.data_dir)):
                self.say("up", line)

    async def _start_servers(self, supervisor: Supervisor) -> RunningServices:
        self._listen()
        services = RunningServices(
            database_url=self.plan.database_url or await self._start_postgres(supervisor),
            broker_url=self.plan.broker_url or await self._start_valkey(supervisor),
            public_url=self.plan.public_url or self._url("web"),
            gateway_url=self.plan.gateway_url or self._url("gateway"),
        )
        await self._wait_for_servers(services)
        write_note(self.plan.data_dir, services)
        return services

    def _listen(self) -> None:
        planned_ports = {"web": self.plan.web_port, "gateway": self.plan.gateway_port}
        for name, port in planned_ports.items():
            try:
                self.listeners[name] = ports.listen(self.plan.host, port)
            except (ports.NoFreePort, OSError) as error:
                raise StartFailed(str(error)) from None
            if (actual := ports.port_of(self.listeners[name])) != port:
                self.say("up", f"port {port} is taken, so the {name} listens on {actual}")

    def _url(self, name: str) -> str:
        return f"http://{self.plan.host}:{ports.port_of(self.listeners[name])}"

    async def _start_postgres(self, supervisor: Supervisor) -> str:
        folder = self.plan.data_dir / "postgres"
        await asyncio.to_thread(postgres.initialise, folder)
        # Its SIGTERM waits for every client to leave; SIGINT ends their sessions and stops.
        await supervisor.start(
            Supervised(name="postgres", command=postgres.command(folder), stop_signal=signal.SIGINT)
        )
        return postgres.url(folder)

    async def _start_valkey(self, supervisor: Supervisor) -> str:
        folder = self.plan.data_dir / "valkey"
        self.valkey_port = ports.reserved()
        port = ports.port_of(self.valkey_port)
        valkey.initialise(folder, port=port)
        await supervisor.start(Supervised(name="valkey", command=valkey.command(folder)))
        return valkey.url(folder, port=port)

    async def _wait_for_servers(self, services: RunningServices) -> None:
        await _until_ready(postgres.wait_until_ready, services.database_url, self.clock)
        await _until_ready(valkey.wait_until_ready, services.broker_url, self.clock)

    async def _prepare(self, supervisor: Supervisor, services: RunningServices) -> dict[str, str]:
        """Prepare the database and return one-time tokens for the processes that enroll."""
        tokens = self.plan.data_dir / "run" / "enrollment.json"
        command = ServerCommand(
            argv=(
                *(sys.executable, str(_manage_py()), "prepare"),
                *("--tokens", str(tokens), "--enroll", *_ENROLLING, *self._more_gateways()),
            ),
            environment=self._environment(services),
        )
        if await supervisor.run_once("prepare", command):
            raise StartFailed("The database could not be prepared; the lines above say why.")
        try:
            made = dict(json.loads(tokens.read_text()))
        finally:
            tokens.unlink()
        # Each process of the gateway enrolls for itself.
        made["gateway"] = ",".join(made[each] for each in ("gateway", *self._more_gateways()))
        return made

    async def _start_processes(
        self,
        supervisor: Supervisor,
        services: RunningServices,
        chosen: tuple[Process, ...],
        tokens: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        for process in chosen:
            environment = self._environment(services)
            if process.name in tokens:
                environment["ENROLLMENT_TOKEN"] = tokens[process.name]
            await supervisor.start(self._supervised(process, environment))

    def _more_gateways(self) -> list[str]:
        return [f"gateway-{number}" for number in range(2, self.plan.gateway_processes + 1)]

    def _web(self) -> tuple[Process, ...]:
        return tuple(each for each in self._processes() if each.name == "web")

    def _others(self) -> tuple[Process, ...]:
        return tuple(each for each in self._processes() if each.name != "web")

    def _processes(self) -> tuple[Process, ...]:
        return processes(build_pool=self.plan.build_pool)

    def _supervised(self, process: Process, environment: dict[str, str]) -> Supervised:
        return Supervised(
            name=process.name,
            command=process.command(environment),
            listener=self.listeners[process.listens] if process.listens else None,
            stop_grace_seconds=_AGENT_GRACE_SECONDS if process.name == "agent" else 10.0,
            listens_for_signals=process.name == "agent",
        )

    def _environment(self, services: RunningServices) -> dict[str, str]:
        return {
            "DJANGO_SETTINGS_MODULE": "controlplane.settings",
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": os.pathsep.join(_python_path()),
            "DATA_DIR": str(self.plan.data_dir),
            "DATABASE_URL": services.database_url,
            "BROKER_URL": services.broker_url,
            "PUBLIC_URL": services.public_url,
            "GATEWAY_URL": services.gateway_url,
            "CONTROL_PLANE_URL": os.environ.get("CONTROL_PLANE_URL") or self._url("web"),
            **(self._engines_end_soon() if self.plan.stop_engines else {}),
        }

    def _engines_end_soon(self) -> dict[str, str]:
        drain = os.environ.get("ENGINE_DRAIN_SECONDS") or _SHORT_DRAIN_SECONDS
        return {"AGENT_STOP_ENGINES_ON_EXIT": "1", "ENGINE_DRAIN_SECONDS": drain}


async def _until_ready(wait: Callable[..., None], url: str, clock: Clock) -> None:
    # In short turns: a signal must not wait for a server that never answers.
    deadline = clock.monotonic() + _READY_SECONDS
    while True:
        try:
            return await asyncio.to_thread(wait, url, timeout_seconds=0.5, clock=clock)
        except TimeoutError as error:
            if clock.monotonic() > deadline:
                raise StartFailed(str(error)) from None


def _manage_py() -> Path:
    return Path(__file__).resolve().parent.parent.parent / "manage.py"


def _python_path() -> list[str]:
    given = os.environ.get("PYTHONPATH")
    return [str(_manage_py().parent), *([given] if given else [])]
