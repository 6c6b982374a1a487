"""Routes and keys hold for a day without a word of the control plane, and no longer."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from tests.manual_clock import ManualClock
from workers.gateway.confirmation import KEEP_SECONDS, Confirmation
from workers.gateway.settings import Bounds
from workers.gateway.storage import Storage

HOUR = 3600.0
DAY = Bounds.honour_routes_seconds


class Days:
    """One gateway after the other, on one folder, by one clock."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.boot_id = "first"
        self._folder = folder
        self.now = self.start()

    def start(self) -> Confirmation:
        self.now = Confirmation(
            Storage(self._folder), honour_seconds=DAY, clock=self.clock, boot_id=self.boot_id
        )
        return self.now

    def confirm(self) -> None:
        self.now.confirm()
        self.now.keep()


@pytest.fixture
def days(tmp_path: Path) -> Days:
    return Days(tmp_path)


def test_they_hold_for_a_day_and_then_until_they_are_confirmed_again(
    days: Days, caplog: pytest.LogCaptureFixture
) -> None:
    assert DAY == 24 * HOUR
    days.confirm()
    days.clock.advance(DAY)
    assert days.now.look()
    days.clock.advance(1)
    with caplog.at_level(logging.WARNING):
        assert [days.now.look() for _ in range(3)] == [False] * 3
    assert caplog.text.count("has not confirmed routes and keys for 24 hours") == 1
    days.confirm()
    assert days.now.look()


def test_a_new_process_counts_on_from_where_the_last_one_was(days: Days) -> None:
    days.confirm()
    days.clock.advance(13 * HOUR)
    assert days.start().look()
    days.clock.advance(12 * HOUR)
    assert not days.now.look()
    assert not days.start().look()
    days.confirm()
    assert days.start().look()


def test_what_is_on_disk_is_at_most_a_minute_older_than_the_truth(days: Days) -> None:
    for _ in range(600):
        days.clock.advance(1)
        days.confirm()
    assert KEEP_SECONDS == 60
    days.start()
    days.clock.advance(DAY - KEEP_SECONDS)
    assert days.now.look()
    days.clock.advance(KEEP_SECONDS + 1)
    assert not days.now.look()


def test_a_host_whose_clock_goes_back_does_not_make_them_older(days: Days) -> None:
    days.clock.advance(40 * 24 * HOUR)
    days.confirm()
    days.clock = ManualClock()
    assert days.start().look()


@pytest.mark.parametrize("days_ahead", [40, -40])
def test_a_clock_that_is_set_makes_them_neither_older_nor_younger(
    days: Days, days_ahead: int
) -> None:
    days.confirm()
    days.clock = ManualClock(days.clock.now() + timedelta(days=days_ahead))
    days.clock.advance(DAY)
    assert days.start().look()
    days.clock.advance(1)
    assert not days.start().look()


def test_over_a_start_of_the_host_they_age_by_the_time_of_day(days: Days) -> None:
    days.clock.advance(40 * HOUR)
    days.confirm()
    days.boot_id, days.clock = "second", ManualClock(days.clock.now() + timedelta(hours=25))
    assert not days.start().look()


def test_a_word_of_the_release_before_is_read(days: Days, tmp_path: Path) -> None:
    (tmp_path / "gateway" / "confirmed").write_text(repr(days.clock.time() - DAY - 1))
    assert not days.start().look()


def test_a_word_on_disk_that_cannot_be_read_is_none(days: Days, tmp_path: Path) -> None:
    (tmp_path / "gateway" / "confirmed").write_text("yesterday")
    assert days.start().look()


def test_a_disk_that_takes_nothing_ends_nothing(days: Days, tmp_path: Path) -> None:
    (tmp_path / "gateway" / "confirmed").mkdir()
    days.now.confirm()
    days.clock.advance(KEEP_SECONDS + 1)
    days.confirm()
    assert days.now.look()
