"""Records of a gateway, taken in as the product does, and by a bare COPY."""

import random
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from django.db import connection

from apps.fleet.models import Gateway
from apps.routes.services import usage_ingest
from apps.telemetry.models import SeriesBucket, SeriesLabels
from apps.telemetry.series.names import Source, slots_of
from apps.telemetry.series.requests import request_cells
from apps.telemetry.series.resolutions import resolutions
from apps.telemetry.series.rows import deltas_write
from apps.telemetry.series.services import series_fold
from apps.telemetry.services.usage import SetAside, UsageRecord, read_records
from controlplane import clock

_COLUMNS = (
    "request_id", "at", "model_id", "deployment_id", "environment", "key_id", "replica_id",
    "status", "stream", "prompt_tokens", "completion_tokens", "cached_tokens", "queue_seconds",
    "first_byte_seconds", "duration_seconds", "request_bytes", "response_bytes",
)  # fmt: skip
_PLAIN = """
    CREATE TABLE plain (
        request_id text, at float8, model_id text, deployment_id text, environment text,
        key_id text, replica_id text, status int, stream bool, prompt_tokens bigint,
        completion_tokens bigint, cached_tokens bigint, queue_seconds float8,
        first_byte_seconds float8, duration_seconds float8, request_bytes bigint,
        response_bytes bigint
    )
"""


class Intake:
    """A second of traffic a batch, over deployments that are not asked equally often."""

    def __init__(self, *, deployments: int, records_a_batch: int) -> None:
        self._many = records_a_batch
        self._deployments = deployments
        self._journal = uuid4()
        self._gateway = Gateway.objects.create(name="bench", credential_sha256="0" * 64)
        self._began_at = clock.now().timestamp() - 1800
        with connection.cursor() as cursor:
            cursor.execute(_PLAIN)

    def records(self, number: int) -> list[dict[str, Any]]:
        """Return the records of one second, the same for the same number."""
        chance = random.Random(number)
        return [self._record(chance, number) for _ in range(self._many)]

    def _record(self, chance: random.Random, number: int) -> dict[str, Any]:
        deployment = min(int(chance.expovariate(5 / self._deployments)), self._deployments - 1)
        tokens, first = chance.randrange(1, 800), chance.lognormvariate(-1.5, 0.5)
        return {
            "request_id": f"{chance.getrandbits(128):032x}", "state": "closed",
            "at": self._began_at + number + chance.random(), "model_id": f"m{deployment:07}",
            "deployment_id": f"d{deployment:07}", "environment": "production",
            "key_id": f"k{chance.randrange(3)}", "replica_id": f"r{chance.randrange(2)}",
            "status": chance.choice([200] * 30 + [429, 503]), "stream": True,
            "prompt_tokens": chance.randrange(4000), "completion_tokens": tokens,
            "cached_tokens": chance.randrange(500), "queue_seconds": chance.expovariate(200),
            "first_byte_seconds": first, "duration_seconds": first + tokens * 0.012,
            "request_bytes": 2000, "response_bytes": tokens * 180,
        }  # fmt: skip

    def count(self, number: int, records: Sequence[dict[str, Any]]) -> None:
        """Take a batch in as the web process does."""
        usage_ingest(journal=self._journal, gateway=self._gateway, from_offset=number,
                     to_offset=number + 1, records=records)  # fmt: skip

    def copy(self, records: Sequence[dict[str, Any]]) -> None:
        """Put the same records into a plain table."""
        statement = f"COPY plain ({', '.join(_COLUMNS)}) FROM STDIN"
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for record in records:
                copy.write_row([record[name] for name in _COLUMNS])

    def read(self, records: Sequence[dict[str, Any]]) -> list[UsageRecord]:
        return read_records(records, SetAside())

    def write_deltas(self, read: Sequence[UsageRecord]) -> None:
        """Append what they add, without usage."""
        deltas_write(request_cells(read, {}))

    def fold(self) -> None:
        series_fold()

    def counted(self) -> int:
        """Return how many requests the days of series hold: twice what was sent, by both runs."""
        ids = SeriesLabels.objects.filter(cut="team").values("id")
        slot = slots_of(Source.GATEWAY)["requests"].sums
        days = SeriesBucket.objects.filter(resolution_seconds=86_400, labels_id__in=ids)
        return int(sum(row.sums[slot] for row in days))

    def bytes_by_resolution(self) -> dict[int, int]:
        """Return what the buckets of each resolution take, with their indexes."""
        with connection.cursor() as cursor:
            return {each.seconds: _bytes_below(cursor, each.table) for each in resolutions()}

    def minutes(self) -> int:
        """Return how many minutes there are buckets of."""
        rows = SeriesBucket.objects.filter(resolution_seconds=60)
        return rows.values("at").distinct().count()

    def copied_bytes(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_total_relation_size('plain')")
            return int(cursor.fetchone()[0])


def _bytes_below(cursor: Any, table: str) -> int:
    cursor.execute(
        "SELECT coalesce(sum(pg_total_relation_size(relid)), 0) FROM pg_partition_tree(%s) "
        "WHERE isleaf",
        [table],
    )
    return int(cursor.fetchone()[0])
