"""Tunings of lookahead: asked for, counted by a worker, judged, shown and taken over."""

from collections.abc import Mapping
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import AuditEntry
from apps.configs.calibration_sets.models import CalibrationSet, CalibrationVersion
from apps.configs.lookahead_tunings.leasing import TUNING
from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.lookahead_tunings.selectors import order_of, tuning_behind
from apps.configs.lookahead_tunings.services import (
    tuning_cancelled,
    tuning_finish,
    tuning_progress,
)
from apps.configs.models import Config
from apps.configs.services.configs import config_create
from apps.leases.services import lease_check, lease_claim
from controlplane.domain.failures.registry import calibration
from controlplane.domain.lookahead_tuning.counted import Counted
from controlplane.domain.lookahead_tuning.settings import LookaheadSetting
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast, config_text, make_cast, make_device

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
SET = "team/answers"


@pytest.fixture
def cast() -> Cast:
    make_device()
    return make_cast()


@pytest.fixture
def config(cast: Cast) -> Config:
    outcome = CalibrationSet.objects.create(team=cast.team, name="answers")
    CalibrationVersion.objects.create(
        set=outcome, number=1, digest="d", content_digest="c", file_name="rows.jsonl",
        uploaded_name="a.jsonl", column="prompt", rows=9, empty_rows=0, short_rows=0,
        size_bytes=9, head=[],
    )  # fmt: skip
    return config_create(team=cast.team, name="tiny", text=config_text("/checkpoints/tiny"))


def counted(tuning: LookaheadTuning, *, accepted: int) -> Mapping[str, Any]:
    """What a step would say in which every setting gets so many tokens of each draft right."""
    each = [_counted(LookaheadSetting.from_json(one), accepted) for one in _tried(tuning)]
    return {
        "commit": "c0ffee", "conversations": 9, "answers": 9, "prompt_tokens": 900,
        "answer_tokens": 90, "counted": [one.to_json() for one in each],
    }  # fmt: skip


def _tried(tuning: LookaheadTuning) -> Any:
    return order_of(tuning)["settings"]


def _counted(setting: LookaheadSetting, accepted: int) -> Counted:
    longest = setting.longest_draft_tokens
    right = min(longest, accepted)
    return Counted(
        setting=setting, tokens=10 * (1 + right), steps=10, drafted_steps=10 if longest else 0,
        drafted_tokens=10 * longest, accepted_at=[10] * right + [0] * (longest - right),
    )  # fmt: skip


def asked(cast: Cast, config: Config, **more: Any) -> LookaheadTuning:
    body = {"config_id": config.id, "dataset": SET, **more}
    status, report = client_of(cast.member).post("/v1/lookahead_tunings", body)
    assert status == 202, report
    return LookaheadTuning.objects.get(id=report["id"])


def finished(cast: Cast, config: Config, *, accepted: int) -> Any:
    tuning = asked(cast, config)
    lease = lease_claim(kind=TUNING, id=tuning.id)
    assert lease is not None
    tuning_progress(lease=lease, done=4, total=9, unit="answers")
    assert tuning_finish(lease=lease, counted=dict(counted(tuning, accepted=accepted)))
    return client_of(cast.member).get(f"/v1/lookahead_tunings/{tuning.id}")[1]


def test_answers_that_are_copied_are_served_with_lookahead_by_one_call(
    cast: Cast, config: Config
) -> None:
    report = finished(cast, config, accepted=64)
    assert (report["state"], report["progress"]["done"]) == ("finished", 4)
    assert report["result"]["device"] == "CPU"
    recommended = report["result"]["recommended"]
    assert recommended["changes"]
    assert recommended["sentence"].startswith("Serve with drafts of up to ")
    status, made = client_of(cast.member).post(f"/v1/lookahead_tunings/{report['id']}/apply")
    assert (status, made) == (201, {"config_id": config.id, "revision": 2})
    revision = config.revisions.get(number=2)
    longest = recommended["setting"]["longest_draft_tokens"]
    assert f"lookahead_ngram_size: {longest}" in revision.text
    assert tuning_behind(revision).id == report["id"]
    again = client_of(cast.member).get(f"/v1/lookahead_tunings/{report['id']}")[1]
    assert again["made_revision"] == 2


def test_where_nothing_is_accepted_it_recommends_none(cast: Cast, config: Config) -> None:
    recommended = finished(cast, config, accepted=0)["result"]["recommended"]
    assert not recommended["changes"]
    assert recommended["setting"]["manner"] == "off"
    assert recommended["sentence"].startswith("Keep serving without lookahead: for one request")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"dataset": "team/nothing"}, "calibration_set_unknown"),
        ({"requests": 0}, None),
        ({"revision": 7}, "not_found"),
    ],
)
def test_what_cannot_be_tuned_is_refused(
    cast: Cast, config: Config, body: dict[str, Any], code: str | None
) -> None:
    target = {"config_id": config.id, "dataset": SET, **body}
    status, report = client_of(cast.member).post("/v1/lookahead_tunings", target)
    assert status in (400, 404)
    assert code is None or report["code"] == code
    assert not LookaheadTuning.objects.exists()


def test_two_presses_make_one_tuning_and_others_do_not_see_it(cast: Cast, config: Config) -> None:
    first = asked(cast, config)
    assert asked(cast, config) == first
    assert asked(cast, config, requests=8) != first
    path = f"/v1/lookahead_tunings/{first.id}"
    outsider = client_of(cast.outsider)
    assert outsider.get(path)[0] == outsider.post(f"{path}/cancel")[0] == 404


def test_a_waiting_tuning_is_cancelled_at_once_and_a_running_one_by_its_holder(
    cast: Cast, config: Config
) -> None:
    waiting, running = asked(cast, config), asked(cast, config, requests=2)
    lease = lease_claim(kind=TUNING, id=running.id)
    assert lease is not None
    for each in (waiting, running):
        assert client_of(cast.member).post(f"/v1/lookahead_tunings/{each.id}/cancel")[0] == 200
    waiting.refresh_from_db()
    assert waiting.state == "cancelled"
    assert lease_claim(kind=TUNING, id=waiting.id) is None
    assert lease_check(lease=lease).is_cancel_requested
    tuning_cancelled(lease=lease)
    running.refresh_from_db()
    assert running.state == "cancelled"
    assert AuditEntry.objects.filter(action="lookahead.cancel_tuning").count() == 2
    assert client_of(cast.member).post(f"/v1/lookahead_tunings/{running.id}/cancel")[0] == 409


def test_pages_ask_show_and_take_over(cast: Cast, config: Config) -> None:
    client = signed_in(cast.member)
    assert b"No tunings yet" in client.get("/lookahead-tunings/").content
    form = {"config": config.id, "dataset": SET, "requests": "4"}
    asked_for = client.post("/lookahead-tunings/", form)
    page = asked_for.headers["location"]
    assert b"Waiting for a build" in client.get(page).content
    tuning = LookaheadTuning.objects.get()
    lease = lease_claim(kind=TUNING, id=tuning.id)
    assert lease is not None
    tuning_finish(lease=lease, counted=dict(counted(tuning, accepted=64)))
    shown = client.get(page).content.decode()
    assert "for 4 requests at once" in shown
    assert "Save as the next revision" in shown
    assert "Accepted by position" in shown
    assert client.post(f"{page}apply/").status_code == 302
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"lookahead.tune", "config.save"} <= actions
    assert "Save as the next revision" not in client.get(page).content.decode()


def test_a_failure_says_what_to_upload(cast: Cast, config: Config) -> None:
    tuning = asked(cast, config)
    lease = lease_claim(kind=TUNING, id=tuning.id)
    assert lease is not None
    failure = calibration.NO_ANSWERS.failure(name=SET, columns="`text`")
    tuning_finish(lease=lease, failure=failure)
    report = client_of(cast.member).get(f"/v1/lookahead_tunings/{tuning.id}")[1]
    assert report["failure"]["code"] == "EHC-NO-ANSWERS"
    assert client_of(cast.member).post(f"/v1/lookahead_tunings/{tuning.id}/apply")[0] == 409


class _Worker:
    """A clock whose first sleep lets the tuning be made."""

    def __init__(self, accepted: int) -> None:
        self._accepted = accepted

    def sleep(self, _seconds: float) -> None:
        tuning = LookaheadTuning.objects.get()
        lease = lease_claim(kind=TUNING, id=tuning.id)
        assert lease is not None
        tuning_finish(lease=lease, counted=dict(counted(tuning, accepted=self._accepted)))


def test_the_command_waits_says_it_and_saves_it(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "apps.configs.management.commands.tune_lookahead.Command.clock"
    monkeypatch.setattr(command, _Worker(accepted=64))
    statement, report = StringIO(), StringIO()
    call_command(
        "tune_lookahead", config.id, "--dataset", SET, "--apply", stdout=statement, stderr=report
    )
    assert "Serve with drafts of up to" in statement.getvalue()
    assert "Revision 2 of tiny has it." in report.getvalue()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing", "--dataset", SET], "There is no config `nothing`."),
        (["{config}", "--dataset", "team/none"], "has no calibration set `team/none`"),
        (["{config}", "--file", "/nowhere.jsonl"], "/nowhere.jsonl cannot be read"),
        (["{config}", "--dataset", SET, "--requests", "0"], "--requests 0"),
    ],
)
def test_the_command_says_what_is_wrong(config: Config, arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("tune_lookahead", *(each.format(config=config.id) for each in arguments))
    assert words in str(refused.value)
