"""The web process while its database is away: everybody is told so and when to come back."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from controlplane.processes import ports, postgres
from tests.embedded_postgres import TEST_DATABASE, postgres_command
from tests.migrated_postgres import template
from tests.waiting import DEADLINE_SECONDS, wait_for

pytestmark = pytest.mark.process
_ROOT = Path(__file__).resolve().parents[3]
_WITH_KEY = {"Authorization": "Bearer nobody-has-this-key"}
_ASKED = {
    "page": ("GET", "/", {"Cookie": f"sessionid={'a' * 32}"}),
    "REST": ("GET", "/v1/configs", _WITH_KEY),
    "machines": ("POST", "/internal/v1/nodes/observe", _WITH_KEY),
    "metrics": ("GET", "/metrics", _WITH_KEY),
    "long body": ("POST", "/calibration-sets/", {**_WITH_KEY, "Content-Length": "3000000"}),
    "healthz": ("GET", "/healthz", {}),
    "readyz": ("GET", "/readyz", {}),
}


@dataclass
class _Web:
    url: str
    process: "subprocess.Popen[bytes]"
    database: "subprocess.Popen[bytes]"
    relay: "_Relay"

    def answer(self, what: str) -> httpx.Response:
        """Return the answer, which is waited for far longer than it may take."""
        method, path, headers = _ASKED[what]
        body = b" " * int(headers.get("Content-Length", 0))
        return _client().request(method, f"{self.url}{path}", headers=headers, content=body)

    def signal_database(self, number: signal.Signals) -> None:
        """Signal the server and each process of its connections: they are sessions of their own."""
        server = psutil.Process(self.database.pid)
        for each in [server, *server.children()]:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(number)

    def listens(self) -> tuple[Any, ...]:
        """Return since when the database knows it to listen, and when it last said so."""
        with psycopg.connect(_database_url(self.relay.port)) as connection:
            row = connection.execute("SELECT since, last_beat_at FROM fleet_listening").fetchone()
        return row or (None, None)

    def age_beats(self, seconds: int) -> None:
        """Have it said so last that much longer ago."""
        older = f"last_beat_at - interval '{seconds} s'"
        with psycopg.connect(_database_url(self.relay.port)) as connection:
            connection.execute(f"UPDATE fleet_listening SET last_beat_at = {older}")

    def heal(self) -> None:
        """Let everything go on that was held, and wait until the web process has its database."""
        self.relay.speak()
        self.signal_database(signal.SIGCONT)
        self.process.send_signal(signal.SIGCONT)
        wait_for(self.is_ready, what="the web process to find its database again")

    def is_ready(self) -> bool:
        with suppress(httpx.TransportError):
            return self.answer("readyz").status_code == httpx.codes.OK
        return False


@cache
def _client() -> httpx.Client:
    """Return the one client, for the certificates of each; it keeps no connection."""
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.Client(limits=limits, timeout=DEADLINE_SECONDS, trust_env=False)


class _Relay:
    """Hands bytes on to the database's socket, until it keeps them to itself."""

    def __init__(self, folder: Path) -> None:
        self._target = str(next(folder.glob(".s.PGSQL.*[0-9]")))
        self._passes = threading.Event()
        self._passes.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def fall_silent(self) -> None:
        """Take connections and bytes, and answer nothing."""
        self._passes.clear()

    def speak(self) -> None:
        self._passes.set()

    def close(self) -> None:
        self._passes.set()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(
                    target=self._join, args=(self._listener.accept()[0],), daemon=True
                ).start()

    def _join(self, near: socket.socket) -> None:
        far = socket.socket(socket.AF_UNIX)
        with near, far:
            self._passes.wait()
            with suppress(OSError):
                far.connect(self._target)
            back = threading.Thread(target=self._hand_on, args=(far, near), daemon=True)
            back.start()
            self._hand_on(near, far)
            back.join()

    def _hand_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while some := source.recv(65536):
                self._passes.wait()
                target.sendall(some)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def web_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the static files that the web process names in its pages."""
    folder = tmp_path_factory.mktemp("web")
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"],
        cwd=_ROOT,
        env={**os.environ, "DATA_DIR": str(folder)},
        check=True,
    )
    return folder


@pytest.fixture(scope="module")
def running_web(web_folder: Path) -> Iterator[_Web]:
    """A web process on a PostgreSQL of its own, which it reaches through a relay."""
    with _started(web_folder, "alone") as started:
        yield started


@pytest.fixture
def web(running_web: _Web) -> Iterator[_Web]:
    """That web process, which has its database again afterwards."""
    # So that there are connections that must be found dead.
    assert running_web.answer("REST").status_code == httpx.codes.UNAUTHORIZED
    yield running_web
    running_web.heal()


@pytest.fixture
def web_of_its_own(web_folder: Path) -> Iterator[_Web]:
    """One whose database may end."""
    with _started(web_folder, "ended") as started:
        assert started.answer("REST").status_code == httpx.codes.UNAUTHORIZED
        yield started


@contextmanager
def _started(web_folder: Path, cluster: str) -> Iterator[_Web]:
    folder = Path(os.environ["DATA_DIR"]) / cluster
    template(postgres_command(folder).user).lay_out(folder, pytest.fail)
    with ExitStack() as stack:
        database = stack.enter_context(_database(folder))
        relay = _Relay(folder)
        stack.callback(relay.close)
        url, process = stack.enter_context(_web_process(web_folder, relay.port))
        started = _Web(url, process, database, relay)
        wait_for(started.is_ready, what="the web process")
        yield started


@contextmanager
def _database(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    postgres.initialise(folder)
    command = postgres_command(folder)
    process = subprocess.Popen(
        command.argv,
        user=command.user,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        postgres.wait_until_ready(postgres.url(folder), timeout_seconds=DEADLINE_SECONDS)
        yield process
    finally:
        with suppress(psutil.NoSuchProcess):
            for each in [server := psutil.Process(process.pid), *server.children()]:
                each.resume()
        process.send_signal(signal.SIGINT)
        process.wait(DEADLINE_SECONDS)


def _database_url(port: int) -> str:
    return f"postgresql://postgres@127.0.0.1:{port}/{TEST_DATABASE}"


@contextmanager
def _web_process(
    data_dir: Path, database_port: int
) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    database_url = _database_url(database_port)
    environment = {**os.environ, "DATA_DIR": str(data_dir), "DATABASE_URL": database_url}
    with ports.reserved() as port:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "controlplane.processes.web",
                "--port",
                str(ports.port_of(port)),
            ],
            cwd=_ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        try:
            yield f"http://127.0.0.1:{ports.port_of(port)}", process
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait(DEADLINE_SECONDS)


def _refuses_everybody(web: _Web) -> None:
    with ThreadPoolExecutor(len(_ASKED)) as askers:
        answers = list(askers.map(web.answer, _ASKED))
    for what, answer in zip(_ASKED, answers, strict=True):
        assert (what, answer.status_code) == (what, httpx.codes.SERVICE_UNAVAILABLE)
        assert (what, answer.headers["Retry-After"]) == (what, "2")
    assert _client().get(f"{web.url}/livez").json() == {"status": "alive"}


def test_a_database_that_was_stopped_is_told_to_everybody_who_asks(web: _Web) -> None:
    web.signal_database(signal.SIGSTOP)
    _refuses_everybody(web)
    web.heal()


def test_a_database_that_takes_connections_and_never_answers_is_told_likewise(web: _Web) -> None:
    web.relay.fall_silent()
    _refuses_everybody(web)
    web.heal()


def test_a_database_that_has_ended_is_told_likewise(web_of_its_own: _Web) -> None:
    web_of_its_own.database.send_signal(signal.SIGINT)
    web_of_its_own.database.wait(DEADLINE_SECONDS)
    _refuses_everybody(web_of_its_own)


def test_it_says_all_the_while_that_it_listens_and_begins_anew_after_it_was_stopped(
    web: _Web,
) -> None:
    wait_for(lambda: web.listens()[0], what="its word")
    last = web.listens()[1]
    wait_for(lambda: web.listens()[1] > last, what="its word of the next second")
    web.process.send_signal(signal.SIGSTOP)
    wait_for(lambda: psutil.Process(web.process.pid).status() == "stopped", what="its stop")
    web.age_beats(20)
    since = web.listens()[0]
    web.process.send_signal(signal.SIGCONT)
    wait_for(lambda: web.listens()[0] > since, what="it to listen anew")


def test_it_goes_on_to_say_so_after_its_database_was_away(web: _Web) -> None:
    wait_for(lambda: web.listens()[0], what="its word")
    web.signal_database(signal.SIGSTOP)
    assert web.answer("readyz").status_code == httpx.codes.SERVICE_UNAVAILABLE
    web.heal()
    last = web.listens()[1]
    wait_for(lambda: web.listens()[1] > last, what="its word")
