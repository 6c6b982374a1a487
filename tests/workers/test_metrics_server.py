"""A page of metrics beside a process's work: the first free port, and none where none is."""

import logging
import socket
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from controlplane.process_settings.kinds import listened_on, ports_of
from workers.metrics_server import metrics_serve

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


class One(Collector):
    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("enginehouse_one", "One.", value=1)


def taken_port() -> socket.socket:
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    return taken


def test_the_next_port_is_taken_where_the_first_is_not_free() -> None:
    with closing(taken_port()) as taken:
        first = taken.getsockname()[1]
        port = metrics_serve(One(), f"127.0.0.1:{first}-{min(first + 20, 65_535)}")
    assert port is not None
    assert port > first
    answer = httpx.get(f"http://127.0.0.1:{port}/metrics", headers={"Accept": OPEN_METRICS})
    [family] = text_string_to_metric_families(answer.text)
    assert (family.name, family.samples[0].value) == ("enginehouse_one", 1)


def test_without_a_free_port_the_process_goes_on_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with closing(taken_port()) as taken, caplog.at_level(logging.WARNING):
        assert metrics_serve(One(), f"127.0.0.1:{taken.getsockname()[1]}") is None
    assert "METRICS_LISTEN" in caplog.text
    assert metrics_serve(One(), "") is None


def test_ports_are_one_or_some_of_an_address() -> None:
    assert ports_of("127.0.0.1:9471") == ("127.0.0.1", range(9471, 9472))
    assert ports_of("[::1]:1-3") == ("::1", range(1, 4))
    assert listened_on("") == ""


@pytest.mark.parametrize("text", ["9471", "127.0.0.1:", "a:2-1", "a:0", "a:70000", "a:b"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address with a port"):
        listened_on(text)
