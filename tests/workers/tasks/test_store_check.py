"""The control worker looks whether the artifact store can be used, and the pages say so."""

from collections.abc import Iterator

import pytest
import time_machine
from pytest_django import Settings

from apps.accounts.models import Team
from apps.alerts.evaluation import alerts_evaluate
from apps.builds.models import StoreCheck
from controlplane import clock
from controlplane.celery import app
from controlplane.clock import SYSTEM
from tests.apps.pages import signed_in
from tests.artifacts.places import BucketPlace
from tests.bucket_server import BucketServer
from tests.factories import make_cast, make_team
from workers.tasks.storage import check, sweep

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def bucket(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketPlace]:
    with BucketServer("S3", clock=SYSTEM) as server:
        place = BucketPlace(server)
        settings.ARTIFACT_URL = place.url
        for name, value in place.variables.items():
            monkeypatch.setenv(name, value)
        yield place


def test_a_store_that_cannot_be_used_stands_on_overview_and_settings_until_it_can(
    bucket: BucketPlace, caplog: pytest.LogCaptureFixture
) -> None:
    cast = make_cast()
    admin, member = signed_in(cast.organisation_admin), signed_in(cast.owner)
    check(format=1)
    assert "cannot be used" not in admin.get("/settings/").content.decode()
    assert bucket.url in admin.get("/settings/").content.decode()
    bucket.server.is_read_only = True
    for _ in range(2):
        check(format=1)
    alerts_evaluate()
    for page in (member.get("/"), admin.get("/settings/")):
        text = page.content.decode()
        assert "The artifact store cannot be used" in text
        assert "<code>s3:PutObject</code>" in text
        assert bucket.secret not in text
    storage = admin.get("/v1/settings").json()["storage"]
    assert storage["artifacts_problem"]["code"] == "EHA-DENIED"
    assert storage["artifacts_free_bytes"] is None
    assert caplog.text.count("the artifact store cannot be used") == 1
    assert bucket.secret not in caplog.text
    bucket.server.is_read_only = False
    check(format=1)
    alerts_evaluate()
    assert "cannot be used" not in member.get("/").content.decode()
    assert not bucket.kept()


def test_since_when_it_cannot_be_used_is_kept_while_it_is_the_same(bucket: BucketPlace) -> None:
    began = clock.now()
    bucket.server.is_full = True
    with time_machine.travel(began, tick=False):
        check(format=1)
    bucket.server.clock = None
    with time_machine.travel(began.replace(year=began.year + 1), tick=False):
        check(format=1)
    answer = StoreCheck.objects.get()
    assert answer.since == began
    assert answer.checked_at.year == began.year + 1


def test_a_sweep_of_a_store_that_is_away_removes_nothing_and_says_so(
    bucket: BucketPlace, caplog: pytest.LogCaptureFixture
) -> None:
    bucket.server.is_skewed = True
    sweep(format=1)
    assert "nothing swept" in caplog.text
    assert "the clock of this host" in caplog.text


def test_a_store_of_another_installation_is_said_on_the_pages_and_left_as_it_is(
    bucket: BucketPlace,
) -> None:
    admin = signed_in(make_cast().organisation_admin)
    ours = make_team(is_default=True)
    check(format=1)
    assert StoreCheck.objects.get().failure is None
    kept = bucket.kept()
    assert len(kept) == 1
    Team.objects.filter(id=ours.id).update(id="another")
    check(format=1)
    sweep(format=1)
    page = admin.get("/settings/").content.decode()
    assert f"<code>{ours.id}</code>, and this one is <code>another</code>" in page
    assert bucket.kept() == kept


def test_beat_asks_for_it_every_minute() -> None:
    entry = app.conf.beat_schedule["check-artifacts"]
    assert (entry["task"], entry["schedule"]) == (check.name, 60.0)
