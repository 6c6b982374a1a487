"""What series cost: records taken in beside a bare COPY of them, and charts of a week of a fleet.

Against an embedded PostgreSQL. Records of a gateway's journal are read, counted as usage and in
series, and rolled up into all four resolutions; beside it the same records go into one plain table
by COPY, in turns. CPU time of this process and of PostgreSQL together. Then a week of 1,000
deployments is written straight into the tables, and every chart is asked for, the median of five:
what is judged is PostgreSQL's CPU time; its statements' time at the clock, which other work on the
machine lengthens, stands beside it. Exit 1 when a bar is missed.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import cpu_time, report
from benchmarks.web_process import data_folder, servers

BATCHES, RECORDS_A_BATCH = 30, 1000
DEPLOYMENTS = 100
FLEET = 1000
BARS = {
    "records_per_cpu_second": report.at_least(2000),
    "slowest_chart_database_cpu_ms": report.at_most(100),
}
"""1,000 records a second beside serving on two cores: half of one core at the most."""


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    parser = report.parser(__doc__, full="600 batches: ten minutes of 1,000 requests a second")
    options = parser.parse_args()
    summary = report.Report(as_json=options.json)
    with data_folder("series") as folder, servers(folder, LOG_LEVEL="WARNING"):
        _set_up()
        figures = {
            **_taken_in(600 if options.full else BATCHES),
            **_charts(),
        }
    return summary.end(figures, BARS)


def _set_up() -> None:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def _taken_in(batches: int) -> dict[str, Any]:
    from benchmarks.telemetry_parts.records import Intake

    intake = Intake(deployments=DEPLOYMENTS, records_a_batch=RECORDS_A_BATCH)
    spent: dict[str, float] = {"usage_and_series": 0.0, "fold": 0.0, "copy": 0.0}
    for number in range(batches):
        records = intake.records(number)
        spent["usage_and_series"] += _cpu_seconds(lambda n=number, r=records: intake.count(n, r))
        spent["copy"] += _cpu_seconds(lambda r=records: intake.copy(r))
        if number % 10 == 9:
            spent["fold"] += _cpu_seconds(intake.fold)
    spent["fold"] += _cpu_seconds(intake.fold)
    many = batches * RECORDS_A_BATCH
    whole = spent["usage_and_series"] + spent["fold"]
    sizes = intake.bytes_by_resolution()
    alone = _series_alone(intake, many)
    return {
        "records": many,
        "deployments": DEPLOYMENTS,
        "records_per_cpu_second": round(many / whole),
        "records_per_cpu_second_of_series_alone": round(many / alone),
        "records_per_cpu_second_of_bare_copy": round(many / spent["copy"]),
        "cpu_x_bare_copy": round(whole / spent["copy"], 2),
        "cpu_of_series_alone_x_bare_copy": round(alone / spent["copy"], 2),
        "fold_share_of_cpu": round(spent["fold"] / whole, 3),
        "requests_counted": intake.counted(),
        **{f"bytes_of_{seconds}_s_buckets": size for seconds, size in sizes.items()},
        **_bytes_per_million(sizes, intake.minutes()),
        "bytes_per_million_requests_of_bare_copy": round(intake.copied_bytes() / many * 1e6),
    }


def _bytes_per_million(sizes: Mapping[int, int], minutes: int) -> dict[str, int]:
    """Return what an hour of this traffic takes for each million of its requests.

    By hour and day is what is left after two days. What the run made stands for each minute, the
    hour and the day: the same deployments, keys and replicas are asked in all of them.
    """
    millions = RECORDS_A_BATCH * 3600 / 1e6
    lasting = sizes[3600] + sizes[86_400] / 24
    return {
        "bytes_per_million_requests": round((60 * sizes[60] / minutes + lasting) / millions),
        "bytes_per_million_requests_by_hour_and_day": round(lasting / millions),
    }


def _series_alone(intake: Any, many: int) -> float:
    """Return the CPU seconds of so many records by series without usage, in a run of its own."""
    spent = 0.0
    for number in range(many // RECORDS_A_BATCH):
        read = intake.read(intake.records(number))
        spent += _cpu_seconds(lambda r=read: intake.write_deltas(r))
        if number % 10 == 9:
            spent += _cpu_seconds(intake.fold)
    return spent + _cpu_seconds(intake.fold)


def _charts() -> dict[str, Any]:
    from benchmarks.telemetry_parts.week import CHARTS, ask, fill

    rows = fill(FLEET)
    figures: dict[str, Any] = {"fleet_deployments": FLEET, "fleet_rows": rows}
    slowest = 0.0
    for name, chart in CHARTS.items():
        ask(chart)
        summary = [_spent(lambda c=chart: ask(c)) for _ in range(5)]
        figures[f"chart_{name}"] = {
            kind: round(median(each[kind] for each in summary), 1) for kind in summary[0]
        }
        slowest = max(slowest, figures[f"chart_{name}"]["database_cpu_ms"])
    return figures | {"slowest_chart_database_cpu_ms": slowest}


def _spent(act: Callable[[], object]) -> dict[str, float]:
    before = cpu_time.of_descendants(os.getpid())
    with _timed_statements() as spent:
        started = time.perf_counter()
        act()
        whole = time.perf_counter() - started
    return {
        "database_cpu_ms": (cpu_time.of_descendants(os.getpid()) - before) * 1000,
        "database_clock_ms": sum(spent) * 1000,
        "whole_clock_ms": whole * 1000,
    }


@contextmanager
def _timed_statements() -> Iterator[list[float]]:
    from django.db import connection

    spent: list[float] = []

    def timed(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        started = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            spent.append(time.perf_counter() - started)

    with connection.execute_wrapper(timed):
        yield spent


def _cpu_seconds(act: Callable[[], object]) -> float:
    others = cpu_time.of_descendants(os.getpid())
    own = time.process_time()
    act()
    own = time.process_time() - own
    return own + cpu_time.of_descendants(os.getpid()) - others


if __name__ == "__main__":
    sys.exit(main())
