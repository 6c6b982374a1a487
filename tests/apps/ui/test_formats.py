"""Numbers, sizes, times and states as pages write them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from apps.ui import formats, tones
from apps.ui.templatetags.ui import literals, memory
from controlplane.domain.lifecycle import BuildState, DeploymentState, ReplicaState, StepState

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, "–"), (0, "0 B"), (1023, "1023 B".replace("1023", "1 023")), (269_030_016, "257 MiB")],
)
def test_sizes_are_written_in_binary_units(value: float | None, written: str) -> None:
    assert formats.size(value).replace("\u202f", " ") == written


@pytest.mark.parametrize(
    ("amount", "written"),
    [("0.1200", "0.12"), ("2", "2.00"), ("0.0075", "0.0075"), ("1234.5000", "1 234.50")],
)
def test_a_price_is_written_with_two_decimals_and_more_where_it_has_them(
    amount: str, written: str
) -> None:
    assert formats.price(Decimal(amount)).replace("\u202f", " ") == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0.214, "214 ms"), (3.44, "3.4 s"), (59.7, "1 min"), (273_600, "3 d 4 h"), (None, "–")],
)
def test_durations_are_written_in_two_units(seconds: float | None, written: str) -> None:
    assert formats.duration(seconds).replace("\u202f", " ") == written


@pytest.mark.parametrize(
    ("ago", "written"), [(2, "now"), (90, "1 min ago"), (-7200, "in 2 h"), (200_000, "2 d ago")]
)
def test_moments_are_written_by_their_distance(ago: float, written: str) -> None:
    moment = NOW - timedelta(seconds=ago)
    assert formats.relative_time(moment, NOW).replace("\u202f", " ") == written


def test_every_state_of_the_lifecycle_has_a_tone() -> None:
    states = [*BuildState, *StepState, *DeploymentState, *ReplicaState]
    untold = [state for state in states if str(state) not in tones._TONE_OF]
    assert untold == []


def test_a_tab_begins_with_its_state() -> None:
    assert tones.title("failed", "build 41") == "✕ failed · build 41"


def test_backticks_become_code_and_nothing_else_becomes_markup() -> None:
    written = literals("`<b>` & <i>never</i>")
    assert written == "<code>&lt;b&gt;</code> &amp; &lt;i&gt;never&lt;/i&gt;"


def test_numbers_in_a_sentence_are_written_as_pages_do_and_what_was_given_stays() -> None:
    written = literals("`1,024` of 2,650,000 rows, 8,16 or 3,5000, are too many.")
    assert written == (
        "<code>1,024</code> of 2\u202f650\u202f000 rows, 8,16 or 3,5000, are too many."
    )


def test_a_memory_bar_never_leaves_its_device() -> None:
    shown = memory(
        {"device_bytes": 100, "weights_bytes": 80, "kv_cache_bytes": 90, "free_bytes": -70}
    )
    assert [part["w"] for part in shown["parts"][:2]] == ["80.00", "20.00"]
