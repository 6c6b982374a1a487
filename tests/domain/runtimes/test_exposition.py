"""An engine's Prometheus page under our names."""

import pytest

from controlplane.domain.runtimes.exposition import read_exposition

PLAIN = {"requests_total": "requests"}
HISTOGRAMS = {"wait_seconds": "wait"}


def read(page: str) -> dict[str, float]:
    return read_exposition(page, plain=PLAIN, histograms=HISTOGRAMS)


@pytest.mark.parametrize(
    "line",
    [
        "requests_total",
        "requests_total many",
        'requests_total{model="m} 5',
        "requests_total{model=m} 5",
        "requests_total NaN",
        "requests_total +Inf",
        "# HELP requests_total 5",
        'wait_seconds_bucket{le="soon"} 5',
        "wait_seconds_bucket 5",
        "}{",
        "\x00",
    ],
)
def test_a_line_that_is_malformed_costs_the_page_no_other(line: str) -> None:
    page = f'requests_total{{model="a"}} 1\n{line}\nrequests_total{{model="b"}} 2\n'
    assert read(page) == {"requests": 3}


def test_series_of_several_labels_are_added_up_whatever_their_labels_hold() -> None:
    page = (
        'requests_total{model="a \\"b\\", {c}",le="2"} 1 1700000000000\n'
        "requests_total\t2\n"
        'wait_seconds_bucket{model="le=\\"9\\"",le="1.0"} 4\n'
        'wait_seconds_bucket{le="1.0",} 4\nwait_seconds_bucket{le="+Inf"} 8\n'
        "wait_seconds_sum 5\nwait_seconds_count 8\nother_total 7\n"
    )
    assert read(page) == {
        "requests": 3,
        "wait_sum": 5,
        "wait_count": 8,
        "wait_p50": pytest.approx(0.5),
        "wait_p90": pytest.approx(0.9),
        "wait_p99": pytest.approx(0.99),
    }


def test_drafts_are_told_by_some_of_the_positions_that_an_engine_tells() -> None:
    page = "".join(
        f'accepted_per_position{{engine="{engine}",position="{at}"}} {100 - at}\n'
        for engine in (0, 1)
        for at in range(5)
    )
    page += 'accepted_per_position{position="x"} 1\naccepted_per_position 1\n'
    exposition = read_exposition(
        page, plain={}, histograms={}, accepted_by_position="accepted_per_position"
    )
    assert exposition == {
        "drafts_accepted_to_1_total": 200,
        "drafts_accepted_to_2_total": 198,
        "drafts_accepted_to_4_total": 194,
    }
