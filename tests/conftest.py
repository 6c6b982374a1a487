"""What all tests stand on: an own data folder, and embedded servers started when first needed."""

import gc
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import django
import hypothesis
import pytest
import pytest_django

from controlplane.collecting import without_collecting
from controlplane.processes import ports
from tests import migrated_postgres, process_state, side_by_side
from tests.embedded_postgres import (
    empty_database,
    leave_database,
    make_test_database,
    postgres_command,
    use_test_database,
)
from tests.needed_fixtures import needed_fixtures
from tests.side_by_side import rank
from tests.time_budget import TimeBudget, of_no_test
from tests.waiting import DEADLINE_SECONDS
from tests.web_server import Connections, wait_until_all_is_answered
from workers.table_of_models import keep_table_of_models

# A short path: PostgreSQL's socket lies below it.
_DATA_DIR = Path(tempfile.mkdtemp(prefix="eh-"))
_DATA_DIR.chmod(0o755)
# Each start of pytest closes the folder that all runs of a user share, and so cuts off a PostgreSQL
# that is at work in another run's.
os.environ["PYTEST_DEBUG_TEMPROOT"] = str(_DATA_DIR)

# Kept from now on, since Django's settings name it before the server is started.
_BROKER_PORT = ports.reserved()


_OBJECTS_BEFORE_A_LOOK = 7000

# Before torch is loaded, of whose threads one that waits for the others would spin: beside two more
# processes of tests, ten seconds of training for one of work. Steps and engines have it from us.
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
keep_table_of_models()
# Whether it may ask a hub, it reads once: not where a test has just set an engine's environment.
import_module("huggingface_hub.constants")
# What models of tests compute is smaller than what two threads take to share it.
os.environ["OMP_NUM_THREADS"] = "1"


def _broker_url() -> str:
    from controlplane.processes import valkey

    (_DATA_DIR / "valkey").mkdir(exist_ok=True)
    return valkey.url(_DATA_DIR / "valkey", port=ports.port_of(_BROKER_PORT))


def _prepare_django() -> None:
    """Point the settings at servers that do not run yet, before Django reads them."""
    from controlplane import database_clock
    from controlplane.processes import postgres

    os.environ.update(
        DJANGO_SETTINGS_MODULE="controlplane.settings",
        DATA_DIR=str(_DATA_DIR),
        DATABASE_URL=postgres.url(_DATA_DIR / "postgres"),
        BROKER_URL=_broker_url(),
        LOCAL_CHECKPOINT_ROOTS=str(_DATA_DIR / "checkpoints"),
        DJANGO_ALLOW_ASYNC_UNSAFE="1",
    )
    (_DATA_DIR / "checkpoints").mkdir()
    (_DATA_DIR / "static").mkdir()  # WhiteNoise warns of a missing one
    django.setup()
    _spare_django()
    # Tests move this process' own clock (time_machine); those that it starts go by the database's.
    database_clock.follow_own_clock()


def _spare_django() -> None:
    """Let passwords be hashed, and static files be found, as the product does at less cost.

    A quarter of a CPU second for each password, and a look at all static files for each client.
    """
    from django.conf import settings

    settings.PASSWORD_HASHERS = ["tests.cheap_argon2.CheapArgon2"]
    settings.WHITENOISE_AUTOREFRESH = True


# Now, since conftests below import models before any hook of this one runs.
_prepare_django()


# The same examples in every run of `make test`, a quarter of the usual hundred;
# `HYPOTHESIS_PROFILE=random` looks for new ones, as test-long does.
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None, max_examples=25)
hypothesis.settings.register_profile("random", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(TimeBudget(), "time-budget")
    config.pluginmanager.register(side_by_side)
    # The same tiny checkpoints come in every run: each is compared with its class once a machine.
    os.environ["MODEL_CLASS_CACHE"] = str(migrated_postgres.KEPT.parent / "model-classes")
    if getattr(config.option, "numprocesses", None):
        # Each process makes a data folder and servers of its own. One that inherited this name
        # would have its settings read, from our folder, before its own conftest runs.
        del os.environ["DJANGO_SETTINGS_MODULE"]
        # Set by an engine's conftest where the run names its folder; none of them could ask a hub.
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
            os.environ.pop(name, None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function):
            item.fixturenames = needed_fixtures(item)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import every test without collecting garbage, which takes as long as the rest of it.

    What they import stays; no test looks through it again either, and none so often as Python does
    by itself: hypothesis and pytest are told of each look.
    """
    with without_collecting():
        collected = yield
    gc.set_threshold(_OBJECTS_BEFORE_A_LOOK)
    return collected


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Return the report with lone surrogates spelled out, which no other process could be sent."""
    report = yield
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]
    return report


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_DATA_DIR, ignore_errors=True)
    _BROKER_PORT.close()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The data folder of this run."""
    return _DATA_DIR


@pytest.fixture(scope="session")
def postgres_server(
    data_dir: Path, django_db_blocker: pytest_django.DjangoDbBlocker
) -> Iterator[str]:
    """A running embedded PostgreSQL with a migrated database for tests; its URL."""
    from controlplane.processes import postgres

    folder = data_dir / "postgres"

    def make(folder: Path) -> None:
        with _postgres_running(folder), django_db_blocker.unblock():
            make_test_database()

    migrated_postgres.template(postgres_command(folder).user).lay_out(folder, make)
    with _postgres_running(folder):
        yield postgres.url(folder)


@pytest.fixture(scope="session")
def broker(data_dir: Path) -> Iterator[str]:
    """A running embedded Valkey; its URL."""
    from controlplane.processes import valkey

    folder = data_dir / "valkey"
    valkey.initialise(folder, port=ports.port_of(_BROKER_PORT))
    with _running(list(valkey.command(folder).argv), user=None, log=data_dir / "valkey.log"):
        valkey.wait_until_ready(_broker_url(), timeout_seconds=DEADLINE_SECONDS)
        yield _broker_url()


@pytest.fixture(scope="session")
def django_db_setup(
    postgres_server: str,
    django_test_environment: None,
    django_db_blocker: pytest_django.DjangoDbBlocker,
) -> Iterator[None]:
    """Instead of pytest-django's own, which would make the database and migrate it."""
    from django.test import TransactionTestCase

    use_test_database()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: empty_database())
        yield
    with django_db_blocker.unblock():
        leave_database()


@pytest.fixture(scope="session")
def live_connections(live_server: Any) -> Connections:
    """The open connections of Django's server for tests."""
    return Connections(live_server.url, live_server.thread.httpd)


@pytest.fixture(autouse=True)
def all_is_answered(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let servers in threads of the test answer before its database is emptied."""
    names = set(request.fixturenames)
    if names & {"live_server", "transactional_db"}:
        request.getfixturevalue("transactional_db")  # which so ends after this
    live = request.getfixturevalue("live_connections") if "live_server" in names else None
    yield
    wait_until_all_is_answered(live)


@pytest.fixture(autouse=True)
def nothing_is_known_of_the_test_before() -> Iterator[None]:
    """Forget what this process of tests keeps of rows and servers."""
    yield
    process_state.forget()


@contextmanager
def _postgres_running(folder: Path) -> Iterator[None]:
    from controlplane.processes import postgres

    postgres.initialise(folder)
    command = postgres_command(folder)
    with _running(list(command.argv), user=command.user, log=folder.with_suffix(".log")):
        postgres.wait_until_ready(postgres.url(folder), timeout_seconds=DEADLINE_SECONDS)
        yield


class _running:
    def __init__(self, argv: list[str], *, user: str | None, log: Path) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                argv, user=user, stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        # At SIGTERM, PostgreSQL would wait for every client to leave.
        self._process.send_signal(signal.SIGINT)
        with of_no_test():
            try:
                self._process.wait(DEADLINE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(DEADLINE_SECONDS)
