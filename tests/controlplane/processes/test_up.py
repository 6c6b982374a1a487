"""`manage.py up`: refuses what it cannot do with one sentence, and works with servers elsewhere."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from controlplane.processes.running import running_services
from controlplane.processes.single import hold_data_dir
from tests.controlplane.processes.test_engines_left import engine_on
from tests.waiting import DEADLINE_SECONDS, wait_for

pytestmark = pytest.mark.process
_LONG = pytest.mark.long  # tests/controlplane/test_settings.py says the same in one process
_ROOT = Path(__file__).resolve().parents[3]
_OURS = {"DATABASE_URL", "BROKER_URL", "ARTIFACT_URL", "DATA_DIR", "LOCAL_CHECKPOINT_ROOTS"}


def _up(folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    return subprocess.run(
        [sys.executable, "manage.py", "up"],
        cwd=_ROOT,
        env={**kept, "DATA_DIR": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )


def test_a_second_start_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    with hold_data_dir(tmp_path):
        answer = _up(tmp_path)
    assert answer.returncode == 1
    assert f"Enginehouse already runs on {tmp_path}" in answer.stderr


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("DATABASE_URL", "sqlite:///here.db", "runs on PostgreSQL alone"),
        pytest.param(
            "ARTIFACT_URL",
            "s3://key:secret@bucket/artifacts",
            "`s3://bucket/artifacts` does not name",
            marks=_LONG,
        ),
        pytest.param("PUBLIC_URL", "example.org", "`example.org` is not one of", marks=_LONG),
        ("WEB_PORT", "eighty", "`eighty` is not a whole number"),
        pytest.param("DEBUG", "maybe", "`maybe` is neither true nor false", marks=_LONG),
        pytest.param("ENGINE_CPU_THREADS", "-2", "`-2` is below 0", marks=_LONG),
        pytest.param("SECRET_KEY_FILE", "/does/not/exist", "cannot be read", marks=_LONG),
        pytest.param("SECRET_KEY", "short", "shorter than 32 characters", marks=_LONG),
    ],
)
def test_a_wrong_setting_stops_the_start_and_names_the_variable(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    answer = _up(tmp_path, **{name: value})
    assert answer.returncode != 0
    last = answer.stderr.strip().splitlines()[-1]
    assert name in last
    assert words in last
    assert "Traceback" not in answer.stderr


def test_with_servers_elsewhere_it_starts_none_of_its_own_and_confides_in_few(
    tmp_path: Path, postgres_server: str, broker: str
) -> None:
    database_url = _own_database(postgres_server)
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    # Databases of its own on both: its tasks are nobody else's.
    broker_url = f"{broker.removesuffix('/0')}/1"
    environment = {
        "DATA_DIR": str(tmp_path),
        "DATABASE_URL": database_url,
        "BROKER_URL": broker_url,
        "SECRET_KEY": "s" * 40,
        "GATEWAY_PROCESSES": "2",
    }
    with (tmp_path / "up.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=_ROOT,
            env={**kept, **environment},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        url = _public_url(tmp_path, process)
        assert httpx.get(f"{url}/healthz", timeout=DEADLINE_SECONDS).status_code == httpx.codes.OK
        children = psutil.Process(process.pid).children()
        assert not [each for each in children if each.name() in {"postgres", "valkey-server"}]
        assert not (tmp_path / "postgres").exists()
        assert not (tmp_path / "valkey").exists()
        assert_gateway_and_agent_have_no_database_and_no_secret_key(process.pid)
        _wait_until_both_gateways_are_members(tmp_path / "up.log")
        with engine_on(tmp_path) as engine:
            process.terminate()
            assert process.wait(DEADLINE_SECONDS) == 0
            assert engine.poll() is None
    finally:
        process.terminate()
        assert process.wait(DEADLINE_SECONDS) == 0
    assert not (tmp_path / "run" / "services.json").exists()
    last = (tmp_path / "up.log").read_text().splitlines()[-4:]
    assert "1 engine goes on serving and holds about" in last[0]
    assert f"support, replica krfe9, process {engine.pid}" in last[1]
    assert "python manage.py stop_engines" in last[2]
    assert "python manage.py up --stop-engines" in last[3]


def _wait_until_both_gateways_are_members(log: Path) -> None:
    wait_for(
        lambda: log.read_text().count("enrolled as gateway") == 2,
        what=lambda: f"two processes of the gateway to enroll:\n{log.read_text()}",
    )


def _own_database(postgres_server: str) -> str:
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS elsewhere WITH (FORCE)")
        connection.execute("CREATE DATABASE elsewhere")
    return postgres_server.replace("@/postgres?", "@/elsewhere?")


def _public_url(folder: Path, process: "subprocess.Popen[bytes]") -> str:
    wait_for(
        lambda: running_services(folder).public_url or process.poll() is not None,
        what=(folder / "up.log").read_text,
    )
    assert process.poll() is None, (folder / "up.log").read_text()
    return running_services(folder).public_url


def test_a_signal_in_the_middle_of_the_start_ends_the_start(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    nobody = "postgresql://nobody@127.0.0.1:9/nothing"
    process = subprocess.Popen(
        [sys.executable, "manage.py", "up"],
        cwd=_ROOT,
        env={**kept, "DATA_DIR": str(tmp_path), "DATABASE_URL": nobody},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for((tmp_path / "valkey" / "valkey.conf").exists, what="the middle of the start")
    process.terminate()
    assert process.wait(DEADLINE_SECONDS) == 0


@pytest.mark.long
def test_gateway_and_agent_get_nothing_of_its_own_database_either(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    given = {"DATA_DIR": str(tmp_path), "SECRET_KEY": "s" * 40}
    process = subprocess.Popen(
        [sys.executable, "manage.py", "up", "--stop-engines"],
        cwd=_ROOT,
        env={**kept, **given},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert_gateway_and_agent_have_no_database_and_no_secret_key(process.pid)
    finally:
        process.terminate()
        assert process.wait(DEADLINE_SECONDS) == 0


def assert_gateway_and_agent_have_no_database_and_no_secret_key(pid: int) -> None:
    for name in ("workers.gateway", "workers.agent"):
        outcome = wait_for(
            lambda name=name: _environment_of(pid, name), what=f"a process of {name}"
        )
        assert "CONTROL_PLANE_URL" in outcome
        assert not outcome.keys() & {"DATABASE_URL", "SECRET_KEY"}


def _environment_of(pid: int, module: str) -> dict[str, str]:
    for child in psutil.Process(pid).children():
        with suppress(psutil.Error):
            if module in " ".join(child.cmdline()):
                return child.environ()
    return {}
