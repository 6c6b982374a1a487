"""An Enginehouse that serves a stand-in engine under counted traffic, and what is true of it."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from apps.dashboard.demo.question import endpoint
from apps.telemetry.series.names import Source, slots_of
from benchmarks.recovery_parts.clocks import Clocks
from benchmarks.recovery_parts.traffic import Traffic
from tests.e2e.installation import Installation, installation
from tests.waiting import wait_for

ROOT = Path(__file__).resolve().parents[2]
ENGINE = Path(__file__).with_name("stand_in_engine.py")
REPLICAS = 2
_ALWAYS_THERE = (
    "web", "gateway", "agent", "scheduler", "control", "async", "build", "postgres", "valkey",
)  # fmt: skip
_USAGE = """
    SELECT coalesce(sum(requests), 0), coalesce(sum(completion_tokens), 0)
    FROM telemetry_usageminute WHERE status_class = 2
"""
_SLOTS = slots_of(Source.GATEWAY)
_SERIES = """
    SELECT name, sum(sums[%(requests)s])::bigint, sum(sums[%(tokens)s])::bigint FROM (
        SELECT 'by ' || cut || ' and ' || resolution_seconds || ' s' AS name, sums, labels_id
        FROM telemetry_series JOIN telemetry_serieslabels ON id = labels_id
        WHERE resolution_seconds > 10
        UNION ALL SELECT 'running sums', sums, labels_id FROM telemetry_seriestotal
    ) AS every JOIN telemetry_serieslabels ON id = labels_id
    WHERE source = 'gateway' AND status_class = '2xx' GROUP BY name
"""
"""Those of 10 seconds are kept for an hour, and a run may take longer."""
LEASES = "SELECT count(*) FROM fleet_devicelease WHERE released_at IS NULL"


@dataclass
class Serving:
    """The installation, the model that it serves, and what flows to it."""

    here: Installation
    model_id: str
    traffic: Traffic
    clocks: Clocks

    def engines(self) -> set[int]:
        return set(self.here.pids("engine"))

    def is_true(self) -> bool:
        """Whether everything runs, and what is shown is what runs."""
        with suppress(httpx.HTTPError, psutil.Error, KeyError, IndexError):
            return self._is_true()
        return False

    def usage(self) -> tuple[int, int]:
        """Return how many answered requests are counted, and their tokens."""
        row = self._row(_USAGE)
        return int(row[0]), int(row[1])

    def series(self) -> dict[str, tuple[int, int]]:
        """Return the same by every breakdown and resolution of series, and by running sums."""
        slots = {
            "requests": _SLOTS["requests"].sums + 1,
            "tokens": _SLOTS["completion_tokens"].sums + 1,
        }
        url = self.here.services.database_url
        with psycopg.connect(url, connect_timeout=5) as connection:
            rows = connection.execute(_SERIES, slots).fetchall()
        return {name: (requests, tokens) for name, requests, tokens in rows}

    def clock_is_off(self, kind: str) -> bool:
        """Whether a process of the kind runs by another clock."""
        with suppress(psutil.Error, IndexError):
            return "FAKETIME" in psutil.Process(self.here.pid(kind)).environ()
        return False

    def leases(self) -> int:
        """Return how many claims on devices there are."""
        return self.number(LEASES)

    def number(self, query: str) -> int:
        """Return the one number of a query."""
        return int(self._row(query)[0])

    def begun_twice(self, since: int, *, but_by: Collection[int]) -> int | None:
        """Return how many questions engines began more than once; real ones do not tell.

        Killed ones, which these were, do not count: what they had is asked of others.
        """
        if not self.traffic.is_echoed:
            return None
        began = Counter(
            number for number, pid in self._begun() if number >= since and pid not in but_by
        )
        return sum(times > 1 for times in began.values())

    def begun_beside(self, engines: Collection[int]) -> set[int]:
        """Return the questions that others than these engines began; none without an engine."""
        return {number for number, pid in self._begun() if engines and pid not in engines}

    def _is_true(self) -> bool:
        shown = self.here.get(f"models/{self.model_id}/deployments/production")
        if (shown["status"], shown["active_replica_count"]) != ("ACTIVE", REPLICAS):
            return False
        found = self.here.pids_by_kind()
        return len(found.get("engine", [])) == REPLICAS and found.keys() >= {*_ALWAYS_THERE}

    def _begun(self) -> Iterator[tuple[int, int]]:
        """Return the question and the process of each beginning."""
        noted = self.here.folder / "engine" / "begun.log"
        for line in noted.read_text().splitlines() if noted.exists() else ():
            number, pid = line.split()
            yield int(number), int(pid)

    def _row(self, query: str) -> tuple[int, ...]:
        with psycopg.connect(self.here.services.database_url, connect_timeout=5) as connection:
            row = connection.execute(query).fetchone()
        assert row is not None
        return row


@contextmanager
def serving(folder: Path, *, each_second: float, real: bool = False) -> Iterator[Serving]:
    """Start it, and return once every replica is ready; the questions flow when they are let."""
    clocks = Clocks(folder)
    with pytest.MonkeyPatch.context() as patch:
        clocks.prepare(patch)
        if not real:
            patch.setenv("ENGINE_PYTHON", stand_in(folder))
        with _ending_its_engines(folder) as here:
            model_id = _built_and_deployed(here) if real else _deployed(here)
            traffic = Traffic(
                url=endpoint(gateway_url=here.services.gateway_url, model_id=model_id),
                key=here.api_key,
                each_second=each_second,
                is_echoed=not real,
            )
            served = Serving(here, model_id, traffic, clocks)
            wait_for(served.is_true, what="every replica ready", longest_pause_seconds=0.5)
            yield served


@contextmanager
def _ending_its_engines(folder: Path) -> Iterator[Installation]:
    # As in production they outlive the agent, also one whose supervisor is killed.
    with installation(folder, stop_engines=False) as here:
        yield here
    here.kill_all("runner", "engine")


def _built_and_deployed(here: Installation) -> str:
    """Return the model's id: a tiny model of random weights under the native engine."""
    model_id = str(here.deploy()["id"])
    deployment = here.get(f"models/{model_id}/deployments/production")
    here.patch(
        f"models/{model_id}/deployments/{deployment['id']}/autoscaling_settings",
        {"min_replica": REPLICAS, "max_replica": REPLICAS},
    )
    return model_id


def stand_in(folder: Path) -> str:
    """Return the engine's program, in a folder where it notes what it is asked.

    By this Python itself: a version manager's start of one may take longer than all that is ours.
    """
    (folder / "engine").mkdir(parents=True)
    program = Path(shutil.copy(ENGINE, folder / "engine"))
    _, _, rest = program.read_text().partition("\n")
    program.write_text(f"#!{sys.executable}\n{rest}")
    return str(program)


def _deployed(here: Installation) -> str:
    """Return the model's id, deployed by a process whose database is the installation's."""
    made = subprocess.run(
        [sys.executable, "-m", "benchmarks.recovery_parts.deployed"],
        cwd=ROOT,
        env={
            **os.environ,
            "DATA_DIR": str(here.folder),
            "DATABASE_URL": here.services.database_url,
            "BROKER_URL": here.services.broker_url,
            "REPLICAS": str(REPLICAS),
        },
        check=True,
        capture_output=True,
        text=True,
    )
    return made.stdout.split()[-1]
