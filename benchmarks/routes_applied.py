"""What a change of routes costs a gateway: read, and served by, in fleets of several sizes.

The gateway's own table and heart, without sockets: the processor time of its loop's thread, in
which no request is served meanwhile. In a fleet of so many deployments, replicas and keys, a key is
revoked or a replica comes and goes. Exit 1 when it grows with the fleet.
"""

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import Mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from controlplane.domain.wire.routes import FORMAT, KINDS, RoutesDigest
from workers.gateway.gateway import Gateway
from workers.gateway.routes_table import RoutesTable
from workers.gateway.settings import Bounds

SIZES = (100, 1000, 10_000)
_DEPLOYMENTS_A_MODEL = 4
_CHANGES = 9
_MOST_TIMES = 3.0
"""Of what it takes in the smallest fleet: the caches are what is left."""
_TABLES = {"one": {"/v1/models": ["GET"]}}
BARS = {
    f"{kind}_growth_from_{SIZES[0]}_to_{SIZES[-1]}": report.at_most(_MOST_TIMES)
    for kind in ("revoked", "replica")
}


def main() -> int:
    """Return the exit status: 0 where a change costs the same in every fleet."""
    options = report.parser(__doc__, full="the same").parse_args()
    told = report.Report(as_json=options.json)
    figures: dict[str, Any] = {}
    for size in SIZES:
        figures |= asyncio.run(_measured(size))
    for kind in ("revoked", "replica"):
        smallest, largest = (figures[f"{kind}_cpu_ms_of_{size}"] for size in (SIZES[0], SIZES[-1]))
        figures[f"{kind}_growth_from_{SIZES[0]}_to_{SIZES[-1]}"] = round(largest / smallest, 1)
    return told.end(figures, BARS)


async def _measured(size: int) -> dict[str, float]:
    fleet = _Fleet(size)
    figures = {}
    for kind, change in (("revoked", _revoked), ("replica", _replica)):
        spent = [fleet.change(change(turn)) for turn in range(_CHANGES)]
        figures[f"{kind}_cpu_ms_of_{size}"] = round(median(spent), 3)
    return figures


class _Fleet:
    """A control plane's table and a gateway that follows it."""

    def __init__(self, size: int) -> None:
        self._digest, self._version = RoutesDigest(), 1
        self._table, self._gateway = RoutesTable(), Gateway(Bounds(), Mock())
        self._take(_everything(size), after=None)

    def change(self, rows: Mapping[str, Mapping[str, Any]]) -> float:
        """Return the milliseconds of the processor until these rows are served by."""
        self._version += 1
        return self._take({kind: rows.get(kind, {}) for kind in KINDS}, after=self._version - 1)

    def _take(self, rows: Mapping[str, Mapping[str, Any]], *, after: int | None) -> float:
        self._digest.put_all(rows)
        head = {"format": FORMAT, "version": self._version, "after": after}
        message = {**head, "digest": self._digest.text, "route_tables": _TABLES, **rows}
        payload = json.dumps(message).encode()
        started = time.thread_time()
        taken = self._table.take(payload)
        assert self._table.snapshot is not None
        self._gateway.apply(self._table.snapshot)
        spent = time.thread_time() - started
        assert taken.is_same
        return spent * 1000


def _everything(size: int) -> dict[str, dict[str, Any]]:
    models = range(size // _DEPLOYMENTS_A_MODEL)
    return {
        "models": {
            f"m{number}": {
                "name": f"m{number}", "team_id": "t",
                "environments": {"production": f"d{number * _DEPLOYMENTS_A_MODEL}"},
            }
            for number in models
        },
        "deployments": {
            f"d{number}": {
                "model_id": f"m{number // _DEPLOYMENTS_A_MODEL}", "name": "d", "status": "ACTIVE",
                "predict_route": "/v1/models", "route_table": "one",
            }
            for number in range(size)
        },
        "replicas": {f"r{number}": _replica_row(number) for number in range(size)},
        "keys": {
            f"k{number}": {"id": f"i{number}", "scope": "invoke", "team_id": "t", "limits": {}}
            for number in range(size)
        },
    }  # fmt: skip


def _replica_row(number: int, port: int = 8000) -> dict[str, Any]:
    return {"deployment_id": f"d{number}", "host": "127.0.0.1", "port": port}


def _revoked(turn: int) -> dict[str, dict[str, Any]]:
    return {"keys": {f"k{turn}": None}}


def _replica(turn: int) -> dict[str, dict[str, Any]]:
    return {"replicas": {f"r{turn}": None if turn % 2 else _replica_row(turn, port=9000)}}


if __name__ == "__main__":
    sys.exit(main())
