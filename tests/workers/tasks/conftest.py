"""Builds of a tiny checkpoint, carried out for real."""

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    # Read before Django is set up, when only this folder is tested.
    from apps.builds.models import Build
    from apps.configs.models import Revision
    from tests.workers.tasks.building import MakeBuild
    from tests.workers.tasks.pair import Pair


@pytest.fixture(scope="session")
def checkpoint(data_dir: Path) -> Path:
    """A tiny checkpoint inside the allowed roots."""
    from tests.tiny_checkpoint import make_tiny_checkpoint

    return make_tiny_checkpoint(data_dir / "checkpoints" / "tiny")


@pytest.fixture
def revision(checkpoint: Path, broker: str, transactional_db: None) -> "Revision":
    """A revision that builds the tiny checkpoint."""
    from tests.workers.tasks.building import make_buildable

    return make_buildable(checkpoint)


@pytest.fixture
def make_build(revision: "Revision", data_dir: Path) -> "Iterator[MakeBuild]":
    """Makes queued builds of the revision; nothing is sent."""
    from tests import factories

    def make(**changes: Any) -> "Build":
        return factories.make_build(**{"revision": revision} | changes)

    yield make
    shutil.rmtree(data_dir / "builds", ignore_errors=True)
    shutil.rmtree(data_dir / "artifacts", ignore_errors=True)


@pytest.fixture(scope="module")
def worker_role(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """The role of the database that is made for build workers."""
    from django.core.management import call_command
    from django.db import connection

    from apps.builds.database_role import BUILD_WORKER_ROLE

    with django_db_blocker.unblock():
        call_command("build_worker_role", stdout=StringIO())
    yield BUILD_WORKER_ROLE
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(f"DROP OWNED BY {BUILD_WORKER_ROLE}; DROP ROLE {BUILD_WORKER_ROLE}")


@pytest.fixture(scope="module")
def pair(
    request: pytest.FixtureRequest, broker: str, django_db_setup: None, django_db_blocker: Any
) -> "Iterator[Pair]":
    """Ready build workers whose steps can be held, of a pool of their own."""
    from tests.workers.tasks.pair import Pair

    module = request.module
    workers = Pair(
        module.__name__.rpartition(".")[2],
        count=getattr(module, "WORKERS", 2),
        role=request.getfixturevalue("worker_role") if hasattr(module, "UNDER_ITS_ROLE") else "",
    )
    try:
        with django_db_blocker.unblock():
            workers.fill()
            workers.wait_until_ready()
        yield workers
    finally:
        workers.kill_all()


@pytest.fixture(scope="session")
def replacements(request: pytest.FixtureRequest) -> "list[subprocess.Popen[bytes]]":
    """Servers that tests restarted. They serve until the end: other tests need them as well."""
    started: list[subprocess.Popen[bytes]] = []

    def end() -> None:
        for process in started:
            process.kill()
            process.wait(60)

    # A fixture of the session would end before those that stand on the servers.
    request.config.add_cleanup(end)
    return started


@pytest.fixture
def restart_postgres(
    postgres_server: str, data_dir: Path, replacements: "list[subprocess.Popen[bytes]]"
) -> "Callable[[Callable[[], bool]], None]":
    """Kills PostgreSQL with -9, and starts it again once somebody has missed it."""
    from django.db import connections

    from controlplane.processes import postgres
    from tests.embedded_postgres import postgres_command
    from tests.waiting import wait_for

    def restart(is_missed: Callable[[], bool]) -> None:
        folder = data_dir / "postgres"
        pid = int((folder / "postmaster.pid").read_text().split()[0])
        _kill_with_children(pid)
        try:
            wait_for(is_missed, what="somebody to miss the database")
        finally:
            command = postgres_command(folder)
            replacements.append(_start(command.argv, user=command.user))
        postgres.wait_until_ready(postgres_server, timeout_seconds=120)
        connections.close_all()
        for each in connections.all():
            each.close_pool()

    return restart


@pytest.fixture
def restart_broker(
    broker: str, data_dir: Path, replacements: "list[subprocess.Popen[bytes]]"
) -> Callable[[], None]:
    """Kills Valkey with -9, loses what it kept, and starts it again."""
    import redis

    from controlplane.processes import valkey

    def restart() -> None:
        folder = data_dir / "valkey"
        with redis.from_url(broker) as client:
            pid = int(client.info("server")["process_id"])
        _kill_with_children(pid)
        shutil.rmtree(folder / "appendonlydir", ignore_errors=True)
        replacements.append(_start(valkey.command(folder).argv, user=None))
        valkey.wait_until_ready(broker, timeout_seconds=120)

    return restart


def _kill_with_children(pid: int) -> None:
    import psutil

    from tests.waiting import wait_for
    from workers.build_steps.processes import process

    family = psutil.Process(pid)
    gone = [*family.children(recursive=True), family]
    for each in reversed(gone):
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()

    def have_ended() -> bool:
        outcome = [process(each.pid) for each in gone]
        return all(each is None or each.ended for each in outcome)

    wait_for(have_ended, what="their end")
    # It is a child of ours: PostgreSQL takes an unburied one for a server that still runs.
    family.wait(60)


def _start(argv: Sequence[str], *, user: str | None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        argv,
        user=user,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
