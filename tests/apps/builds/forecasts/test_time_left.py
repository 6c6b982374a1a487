"""A running build says how long is left: its step's own word, and the forecast for the rest."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from time_machine import TimeMachineFixture

from apps.builds.forecasts.time_left import time_left_words
from apps.builds.models import Build
from apps.builds.presentation import build_context
from apps.ui import formats
from tests import factories
from tests.apps.builds.stage import make_forecast

if TYPE_CHECKING:
    from tests.factories import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
MOMENT = datetime(2026, 11, 27, 12, tzinfo=UTC)
SECONDS = {"fetch": (1, 2), "inspect": (2, 4), "package": (10, 20), "smoke_test": (5, 9)}


def plain(words: str) -> str:
    return words.replace(formats.THIN_SPACE, " ")


@pytest.fixture
def running(cast: "Cast", time_machine: TimeMachineFixture) -> Build:
    """Fetched, thirty seconds into its inspection, where time stands still."""
    time_machine.move_to(MOMENT, tick=False)
    steps = [
        {
            "name": name,
            "seconds": {"low": low, "high": high, "basis": "formula", "source": "it", "builds": 0},
            "host_bytes": None,
        }
        for name, (low, high) in SECONDS.items()
    ]
    revision = factories.make_revision(team=cast.team)
    build: Build = factories.make_build(
        revision=revision,
        state="inspecting",
        forecast=make_forecast() | {"steps": steps},
        started_at=MOMENT,
    )
    build.steps.filter(name="fetch").update(state="finished")
    begun = MOMENT - timedelta(seconds=30)
    build.steps.filter(name="inspect").update(state="running", started_at=begun)
    return build


def test_what_a_step_says_of_itself_goes_before_its_forecast(running: Build) -> None:
    assert plain(time_left_words(running, MOMENT)) == "about 15 s to 29 s left"
    running.steps.filter(name="inspect").update(progress_seconds_left=60)
    assert plain(time_left_words(running, MOMENT)) == "about 1 min 15 s to 1 min 29 s left"


def test_nothing_is_said_where_nobody_knows(running: Build) -> None:
    running.steps.filter(name="package").update(waits_for="a GPU")
    assert time_left_words(running, MOMENT) == ""
    running.steps.filter(name="package").update(waits_for="")
    for forecast in (None, {"absent": "The checkpoint is unknown."}, {"steps": []}):
        running.forecast = forecast
        assert time_left_words(running, MOMENT) == ""
    running.state = "cancelled"
    assert time_left_words(running, MOMENT) == ""


def test_the_page_shows_it_beside_the_time_that_went_by(cast: "Cast", running: Build) -> None:
    running.forecast = None
    assert build_context(running)["time_left"] == ""
    running.refresh_from_db()
    assert plain(build_context(running)["time_left"]) == "about 15 s to 29 s left"
