"""Counted traffic while a model changes: nothing is lost, nothing doubled, and usage is exact.

A whole installation on this machine with real native engines of a tiny model. Questions come at a
steady rate, every other one as a stream, while deployments are promoted, rolled back, held as a
canary, cancelled, scaled, killed and given other settings, one change after another. Then the
control plane's usage is compared with what the client counted. What a killed engine had begun to
answer, or had where no other replica was, is told by itself. Exit 1 when a bar is missed.
"""

import os
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from apps.dashboard.demo.question import endpoint  # noqa: E402
from benchmarks import report  # noqa: E402
from benchmarks.counted_traffic_parts.carried import carried_each_second  # noqa: E402
from benchmarks.counted_traffic_parts.changes import Changes  # noqa: E402
from benchmarks.recovery_parts.traffic import Traffic  # noqa: E402
from tests.e2e.installation import TINY_YAML, Installation, installation  # noqa: E402

SECONDS, EACH_SECOND, REPLICAS = 60, 30, 2
LONG_SECONDS, LONG_EACH_SECOND, LONG_REPLICAS = 600, 200, 4
_YAML = TINY_YAML.replace("max_batch_size: 4", "max_batch_size: 64")
"""One replica of the tiny model takes all that comes while the others are away."""
_LONGEST_START_SECONDS = 60
"""Of an engine, for which all that comes waits where none is there."""
_STOPPED = "engine_failed"
"""In what the gateway says of a request that a killed engine had: it may have run in part."""
_FAILURE = re.compile(r'^gateway_upstream_errors_total\{.*reason="(\w+)".*\} (\S+)', re.MULTILINE)
_SETTLING_SECONDS = 120.0
_STANDING_STILL_SECONDS = 10.0
_CARRYING_SECONDS = 20.0
BARS = {
    name: report.at_most(0)
    for name in ("lost", "requests_counted_otherwise", "tokens_counted_otherwise")
}


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    asked = report.parser(__doc__, full="ten minutes at 200 a second, up to four replicas")
    asked.add_argument("--seconds", type=int, help="how long questions come")
    asked.add_argument("--each-second", type=int, help="how many")
    asked.add_argument(
        "--of-carried", type=float, help="at most this share of what the machine carries"
    )
    options = asked.parse_args()
    told = report.Report(as_json=options.json)
    seconds = options.seconds or (LONG_SECONDS if options.full else SECONDS)
    each_second = options.each_second or (LONG_EACH_SECOND if options.full else EACH_SECOND)
    replicas = LONG_REPLICAS if options.full else REPLICAS
    with tempfile.TemporaryDirectory(prefix="counted-") as folder:
        figures = measured(
            Path(folder), seconds=seconds, each_second=each_second, most_replicas=replicas,
            of_carried=options.of_carried,
        )  # fmt: skip
    return told.end(figures, BARS)


def measured(
    folder: Path,
    *,
    seconds: float,
    each_second: float,
    most_replicas: int,
    of_carried: float | None = None,
) -> dict[str, Any]:
    """Return what became of the traffic, and how many changes were made meanwhile.

    With `of_carried` the rate is no more than that share of what the machine carries, measured
    before: where more comes than is carried, queues fill and say so, whatever changes.
    """
    room = {"GATEWAY_WAITING_REQUESTS": str(round(each_second * _LONGEST_START_SECONDS))}
    with patch.dict(os.environ, room), installation(folder) as here:
        model_id = str(here.deploy(_YAML)["id"])
        traffic = Traffic(
            endpoint(gateway_url=here.services.gateway_url, model_id=model_id),
            here.api_key, each_second=each_second, is_echoed=False,
        )  # fmt: skip
        figures: dict[str, Any] = {}
        if of_carried is not None:
            carried = carried_each_second(traffic, _CARRYING_SECONDS)
            traffic.each_second = each_second = min(each_second, round(carried * of_carried, 1))
            figures = {"carried_each_second": round(carried, 1)}
            time.sleep(_STANDING_STILL_SECONDS)  # what was asked for it is counted by then
        changes = Changes(here, model_id, traffic, most_replicas=most_replicas)
        before = _usage(here)
        began = time.monotonic()
        with traffic.flowing():
            _change_for(seconds, changes)
        took = time.monotonic() - began
        figures |= _figures(here, traffic, changes, before)
        return {**figures, "seconds": round(took, 1),
                "asked_each_second": each_second, "most_replicas": most_replicas,
                "changes": dict(changes.done)}  # fmt: skip


def _change_for(seconds: float, changes: Changes) -> None:
    ending = threading.Event()
    timer = threading.Timer(seconds, ending.set)
    timer.start()
    try:
        changes.go_on(ending)
    finally:
        timer.cancel()


def _figures(
    here: Installation, traffic: Traffic, changes: Changes, before: tuple[int, int]
) -> dict[str, Any]:
    ended = traffic.lost(0)
    with_an_engine = {
        number for number, how in ended.items() if number in changes.at_a_kill and _STOPPED in how
    }
    lost = {number: how for number, how in ended.items() if number not in with_an_engine}
    wanted = traffic.answered()

    def counted() -> tuple[int, int]:
        requests, tokens = _usage(here)
        return requests - before[0], tokens - before[1]

    requests, tokens = _settled(counted, (traffic.asked, wanted[1]))
    return {
        "asked": traffic.asked,
        "answered": wanted[0],
        "tokens": wanted[1],
        "in_flight_on_a_killed_engine": len(with_an_engine),
        "killed_by_outcome": _outcomes(ended, with_an_engine),
        "lost": len(lost),
        "lost_by_outcome": _outcomes(ended, lost),
        "lost_by_change": dict(
            Counter(changes.under_way_at(traffic.questions[each].ended_at) for each in lost)
        ),
        "lost_after_seconds": [round(traffic.questions[each].seconds, 1) for each in lost][:20],
        "failures_at_engines": _failures(here),
        "slowest_seconds": round(max(each.seconds for each in traffic.questions), 1),
        "requests_counted_otherwise": abs(requests - traffic.asked),
        "tokens_counted_otherwise": abs(tokens - wanted[1]),
    }


def _failures(here: Installation) -> dict[str, int]:
    """Return what the gateway has met at engines, by reason, most of which no client saw."""
    answer = httpx.get(
        f"{here.services.gateway_url}/metrics",
        headers={"authorization": f"Bearer {here.api_key}"}, trust_env=False,
    )  # fmt: skip
    found = re.findall(
        r'^gateway_upstream_errors_total\{.*reason="(\w+)".*\} (\S+)', answer.text, re.M
    )
    counts: Counter[str] = Counter()
    for reason, count in found:
        counts[reason] += int(float(count))
    return dict(counts)


def _outcomes(ended: dict[int, str], among: Iterable[int]) -> dict[str, int]:
    return dict(Counter(ended[each] for each in among).most_common(5))


def _settled(counted: Callable[[], tuple[int, int]], wanted: tuple[int, int]) -> tuple[int, int]:
    """Return what is counted once it has come in, and has stood still for a while."""
    deadline = time.monotonic() + _SETTLING_SECONDS
    while counted() != wanted and time.monotonic() < deadline:
        time.sleep(1)
    time.sleep(_STANDING_STILL_SECONDS)
    return counted()


def _usage(here: Installation) -> tuple[int, int]:
    """Return requests and answer tokens of all keys that the control plane has counted."""
    since = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86_400))
    until = time.strftime("%Y-%m-%d", time.gmtime())
    lines = here.get(f"usage?group_by=key&from={since}&to={until}")["usage"]
    return sum(each["requests"] for each in lines), sum(each["completion_tokens"] for each in lines)


if __name__ == "__main__":
    sys.exit(main())
