"""The page of series says what the catalogue says."""

from pathlib import Path

from apps.telemetry.series.names import CATALOGUE, Source, slots_of
from apps.telemetry.series.reference import series_reference

PAGE = Path(__file__).resolve().parents[4] / "docs" / "metrics.md"


def test_the_page_is_written_from_the_catalogue() -> None:
    assert PAGE.read_text() == series_reference(), "run manage.py write_series_reference"


def test_every_series_has_a_name_of_its_own() -> None:
    assert len({each.name for each in CATALOGUE}) == len(CATALOGUE)


def test_places_in_stored_rows_never_move() -> None:
    """Rows of a year ago are read by them: a new series comes last of its source."""
    by_source = {source: [(name, each.sums, each.sketch) for name, each in slots_of(source).items()]
            for source in Source}  # fmt: skip
    assert by_source[Source.GATEWAY][:10] == [
        ("requests", 0, 0), ("prompt_tokens", 1, 0), ("cached_prompt_tokens", 2, 0),
        ("completion_tokens", 3, 0), ("request_bytes", 4, 0), ("response_bytes", 5, 0),
        ("queue_seconds", 6, 0), ("time_to_first_token_seconds", 7, 1),
        ("inter_token_seconds", 8, 2), ("end_to_end_seconds", 9, 3),
    ]  # fmt: skip
    assert by_source[Source.ENGINE][13:15] == [
        ("undrafted_answer_seconds", 19, 0),
        ("drafts", 20, 0),
    ]
    assert by_source[Source.ENGINE][-1] == ("drafts_accepted_to_64", 27, 0)
    assert by_source[Source.ENGINE][9] == ("accepted_draft_tokens", 15, 0)
    assert by_source[Source.DEVICE][:3] == [
        ("device_utilization_ratio", 0, 0), ("device_memory_used_bytes", 3, 0),
        ("device_power_watts", 6, 0),
    ]  # fmt: skip
    assert by_source[Source.CONTROL_PLANE][:6] == [
        ("replicas_wanted", 0, 0), ("replicas_ready", 3, 0), ("replicas_starting", 6, 0),
        ("device_seconds", 9, 0), ("cost", 10, 0), ("gateways_live", 11, 0),
    ]  # fmt: skip
