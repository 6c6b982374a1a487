"""What `/metrics` of the control plane costs with 10,000 deployments, beside prometheus_client.

A fleet with an hour of counted requests, each deployment with one ready replica on a GPU of its
own. The page is taken in the parts in which it is sent, by a process that has done at its start
what the web process does. The rival is prometheus_client, which writes the same families out of its
own objects: reading rows and making those objects is not counted for it, and of 10,000 takes
minutes: it is measured with the smaller fleet alone. Text and OpenMetrics; exit 1 when a bar is
missed.
"""

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from benchmarks.web_process import data_folder, servers

SIZE, LARGE = 1000, 10_000
BARS = {
    "cpu_ms_a_deployment": report.at_most(0.2),
    "openmetrics_cpu_ms_a_deployment": report.at_most(0.2),
    "page_seconds": report.at_most(2),
    "openmetrics_page_seconds": report.at_most(2),
}


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = report.parser(__doc__, full="10,000 deployments instead of 1,000").parse_args()
    figures = report.Report(as_json=options.json)
    with data_folder("metrics") as folder, servers(folder, LOG_LEVEL="WARNING"):
        return figures.end(_measure(LARGE if options.full else SIZE), BARS)


def _measure(size: int) -> dict[str, Any]:
    import django

    from controlplane.collecting import without_collecting

    with without_collecting():
        django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    with without_collecting():
        from apps.deployments.metrics.page import metrics_page, metrics_parts
        from benchmarks.control_loop_parts.fleet import fill
        from controlplane.domain.wire.exposition import Form

    team = fill(size).team
    figures: dict[str, Any] = {"deployments": size}
    for name, form in (("", Form.TEXT), ("openmetrics_", Form.OPEN_METRICS)):
        page = metrics_page(team=team, form=form) if size < LARGE else b""
        sizes = _taken(metrics_parts(team=team, form=form))
        cpu, clock = _spent(lambda form=form: _taken(metrics_parts(team=team, form=form)))
        figures |= {
            f"{name}cpu_ms_a_deployment": round(cpu * 1000 / size, 4),
            f"{name}page_seconds": round(clock, 2),
            f"{name}page_bytes": sizes,
        }
        if size < LARGE:
            theirs, _ = _spent(_rival(page, is_open=bool(name)))
            figures[f"{name}cpu_x_prometheus_client"] = round(cpu / theirs, 2)
    return figures


def _taken(parts: Iterable[bytes]) -> int:
    """Return how many bytes there were."""
    return sum(map(len, parts))


def _rival(page: bytes, *, is_open: bool) -> Callable[[], bytes]:
    """Return what writes the same families by prometheus_client."""
    from prometheus_client import CollectorRegistry, exposition, parser
    from prometheus_client.openmetrics import exposition as open_exposition
    from prometheus_client.openmetrics import parser as open_parser

    read = (open_parser if is_open else parser).text_string_to_metric_families
    families = list(read(page.decode()))

    class Known:
        def collect(self) -> Any:
            return families

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Known())
    write = (open_exposition if is_open else exposition).generate_latest
    return lambda: write(registry)


def _spent(act: Callable[[], object]) -> tuple[float, float]:
    """Return seconds of this process's CPU and of the clock, the median of three."""
    reports = []
    for _ in range(3):
        cpu, began = time.process_time(), time.perf_counter()
        act()
        reports.append((time.process_time() - cpu, time.perf_counter() - began))
    return median(each for each, _ in reports), median(each for _, each in reports)


if __name__ == "__main__":
    sys.exit(main())
