"""One host: the services of its compose file, as processes in its place of the network.

What containers would do is done to their environment alone: the names of other services become
addresses at which those are published, and paths become the folders that are mounted there.
"""

import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from tests.compose_files import Published, Service, services_of
from tests.several_hosts.container import Container, Order, started
from tests.several_hosts.network import Network
from tests.several_hosts.servers import postgres_argv, programs_of_postgres, valkey_argv
from tests.waiting import DEADLINE_SECONDS, wait_for

_ARGV_OF_SERVERS: Mapping[str, Callable[[Service, Published, Path], Sequence[str]]] = {
    "postgres": postgres_argv,
    "valkey": valkey_argv,
}
_EVERYWHERE = "0.0.0.0"


class Host:
    """Services of one compose file by one `.env`."""

    def __init__(
        self,
        name: str,
        *,
        network: Network,
        folder: Path,
        file: str,
        values: Mapping[str, str],
        more: Mapping[str, str],
    ) -> None:
        self.name = name
        self.folder = folder
        self.file = file
        self.values = dict(values)
        """Its `.env`."""
        self._network = network
        self._more = dict(more)
        self._containers: dict[str, Container] = {}
        (folder / "logs").mkdir(parents=True, exist_ok=True)

    @property
    def address(self) -> str:
        return self._network.address(self.name)

    @property
    def services(self) -> Mapping[str, Service]:
        """What the file says with the `.env` as it is now."""
        return services_of(self.file, self.values)

    def environment(self, name: str) -> dict[str, str]:
        """Return what the processes of a service are given."""
        service = self.services[name]
        pairs = service.environment.items()
        return {key: self._outside(service, value) for key, value in pairs} | self._more

    def up(self, *names: str) -> None:
        """Start services, in this order: `docker compose up -d`."""
        for name in names:
            if name not in self._containers:
                self._containers[name] = Container(self._order(name))

    def run(self, name: str, *command: str, typed: str = "") -> str:
        """Return what a command prints in a service's place: `docker compose run --rm`."""
        order = self._order(name, command or None)
        with started(order, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            statement, _ = process.communicate(typed.encode(), DEADLINE_SECONDS)
        assert process.returncode == 0, self.log(name)[-3000:]
        return statement.decode()

    def stop(self, *names: str) -> None:
        """End services, and do not start them again: `docker compose stop`."""
        for name in names:
            self._containers.pop(name).stop()

    def beside_postgres(self, *command: str, typed: bytes = b"") -> bytes:
        """Return what one of the server's programs writes: `docker compose exec -T postgres`."""
        path, environment = programs_of_postgres(
            self.services["postgres"], self._volume("postgres")
        )
        words = [*self._network.words(self.name), str(path / command[0]), *command[1:]]
        ran = subprocess.run(
            words, env=environment, input=typed, stdout=subprocess.PIPE, check=True
        )
        return ran.stdout

    def container(self, name: str) -> Container:
        """Return a service that was started."""
        return self._containers[name]

    def pids(self, mark: str) -> list[int]:
        """Return the processes of this host with `mark` in their command line."""
        return [each.pid for each in self._processes() if mark in _command_line(each)]

    def log(self, name: str) -> str:
        """Return what a service has said."""
        path = self._log(name)
        return path.read_text(errors="replace") if path.exists() else ""

    def logs(self) -> str:
        """Return the last words of all services, for a test that failed."""
        names = sorted(path.stem for path in (self.folder / "logs").glob("*.log"))
        return "\n".join(f"--- {self.name} {name}\n{self.log(name)[-4000:]}" for name in names)

    def kill(self) -> None:
        """Kill -9 every process of this host, and return when none is left."""
        for container in self._containers.values():
            container.forget()

        def none_is_left() -> bool:
            left = list(self._processes())
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            return not left

        wait_for(none_is_left, what=f"the end of {self.name}")
        for container in self._containers.values():
            container.join()
        self._containers.clear()

    def stop_servers(self) -> None:
        """End the servers in order; a killed PostgreSQL would leave its shared memory."""
        if container := self._containers.pop("postgres", None):
            container.stop(signal.SIGINT)

    def _order(self, name: str, command: Sequence[str] | None = None) -> Order:
        service = self.services[name]
        return Order(
            name=f"{self.name} {name}",
            argv=[*self._network.words(self.name), *(command or self._argv(service))],
            environment=self.environment(name),
            log=self._log(name),
        )

    def _argv(self, service: Service) -> Sequence[str]:
        if service.name in _ARGV_OF_SERVERS:
            argv = _ARGV_OF_SERVERS[service.name]
            return argv(service, service.published[0], self._volume(service.name))
        # A container's own `everywhere` is this host's where its port is published.
        inside = service.published[0].address if service.published else _EVERYWHERE
        return [inside if word == _EVERYWHERE else word for word in service.argv]

    def _outside(self, service: Service, value: str) -> str:
        """Return a value as it is outside of containers."""
        path = value.removeprefix("file://")
        if path.startswith("/"):
            return value.removesuffix(path) + str(self._mounted(service, path))
        named = urlsplit(value).hostname if "://" in value else None
        other = self.services.get(named or "")
        return value if other is None else _renamed(value, other)

    def _mounted(self, service: Service, path: str) -> Path:
        """Return the folder that is mounted at the path, which has to be one of a volume."""
        source = service.volumes[path]
        folder = Path(source) if "/" in source else self._volume(source)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _volume(self, name: str) -> Path:
        return self.folder / "volumes" / name

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def _processes(self) -> Iterator[psutil.Process]:
        # Valkey writes over its title and environment: only its parent tells whose it is.
        known = {each for container in self._containers.values() for each in container.tree()}
        for process in psutil.process_iter():
            if (process in known or self._is_ours(process)) and _lives(process):
                yield process

    def _is_ours(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            in_folder = process.environ().get("DATA_DIR", "").startswith(f"{self.folder}/")
            return in_folder or f"{self.folder}/" in " ".join(process.cmdline())
        return False


def _renamed(value: str, service: Service) -> str:
    parts = urlsplit(value)
    assert service.published, f"{value} leads to a service without a port"
    address = service.published[0].address
    assert parts.port == service.published[0].port, value
    credentials, at, _ = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{credentials}{at}{address}:{parts.port}").geturl()


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def _command_line(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""
