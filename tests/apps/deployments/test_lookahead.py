"""What lookahead brings a deployment: by its engine's counters, and whether it hurts."""

from datetime import UTC, datetime

import pytest

from apps.configs.models import LookaheadTuning
from apps.deployments.lookahead import lookahead_panel
from apps.deployments.models import Deployment
from apps.telemetry.series.cells import Cells
from apps.telemetry.series.names import Source
from apps.telemetry.series.services import Batch, batches_add, series_fold
from tests.factories import make_deployment, make_device
from tests.manual_clock import ManualClock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
NOW = datetime(2026, 11, 28, 12, 0, 30, tzinfo=UTC)
SETTING = {"manner": "by_match", "longest_draft_tokens": 16, "draft_factor": 4}


@pytest.fixture
def deployment() -> Deployment:
    make_device()
    return make_deployment()


def counted(
    deployment: Deployment, *, tokens: int, drafted: int, accepted: int, **compared: float
) -> None:
    labels = {
        "team_id": deployment.model.team_id, "deployment_id": deployment.id, "replica_id": "r",
    }  # fmt: skip
    cells = Cells()
    engine = cells.at(Source.ENGINE, NOW.timestamp() - 600, labels)
    engine.count("engine_completion_tokens", tokens)
    engine.count("draft_tokens", drafted)
    engine.count("accepted_draft_tokens", accepted)
    for name, total in compared.items():
        engine.count(name, total)
    batches_add([Batch(source="test", sequence=1, cells=cells)])
    series_fold(clock=ManualClock(NOW))


def test_long_drafts_that_are_seldom_right_hurt_and_the_page_says_so(
    deployment: Deployment,
) -> None:
    counted(deployment, tokens=1000, drafted=16_000, accepted=20)
    panel = lookahead_panel(deployment, now=NOW)
    assert panel is not None
    assert panel["hurts"]
    assert panel["sentence"].startswith("Lookahead hurts: a step of a request brought 1.02 tokens")
    assert panel["predicted"] is None


def test_what_was_measured_stands_beside_what_the_tuning_predicted(deployment: Deployment) -> None:
    assert deployment.build is not None
    revision = deployment.build.revision
    LookaheadTuning.objects.create(
        team=deployment.model.team, revision=revision, made_revision=revision, dataset="team/a",
        requests=1, pool="default", state="finished",
        result={
            "recommended": {"setting": SETTING},
            "settings": [
                {"setting": SETTING, "tokens_per_step": 4.5,
                 "by_batch": [{"requests": 1, "ratio": 1.7}, {"requests": 4, "ratio": 1.2}]},
            ],
        },
    )  # fmt: skip
    counted(deployment, tokens=1000, drafted=1600, accepted=800)
    panel = lookahead_panel(deployment, now=NOW)
    assert panel is not None
    assert not panel["hurts"]
    assert panel["measured_tokens_per_step"] == 5
    by_name = {name: panel["predicted"][name] for name in ("tokens_per_step", "ratio", "requests")}
    assert by_name == {"tokens_per_step": 4.5, "ratio": 1.7, "requests": 1}


def test_the_held_out_share_tells_the_speed_with_and_without(deployment: Deployment) -> None:
    counted(
        deployment, tokens=1000, drafted=1600, accepted=700, drafted_answer_tokens=900,
        drafted_answer_seconds=30, undrafted_answer_tokens=300, undrafted_answer_seconds=20,
    )  # fmt: skip
    panel = lookahead_panel(deployment, now=NOW)
    assert panel is not None
    compared = panel["compared"]
    assert (compared.drafted_per_second, compared.undrafted_per_second) == (30, 15)
    assert compared.ratio == 2
    assert panel["sentence"].startswith("A step of a request brought"), "300 tokens judge nothing"


@pytest.mark.parametrize(("seconds", "hurts"), [(100, False), (105, False), (106, True)])
def test_what_was_measured_with_and_without_says_whether_it_hurts_whatever_steps_cost(
    deployment: Deployment, seconds: float, hurts: bool
) -> None:
    counted(
        deployment, tokens=9000, drafted=9600, accepted=8000, drafted_answer_tokens=6000,
        drafted_answer_seconds=3 * seconds, undrafted_answer_tokens=2000,
        undrafted_answer_seconds=100,
    )  # fmt: skip
    panel = lookahead_panel(deployment, now=NOW)
    assert panel is not None
    assert panel["hurts"] is hurts
    assert "held-out share without it at 20.0: " in panel["sentence"]
    assert panel["sentence"].startswith("Lookahead hurts: answers" if hurts else "In the last hour")


def test_acceptance_by_position_is_of_all_drafts_and_ends_where_none_was_right(
    deployment: Deployment,
) -> None:
    counted(
        deployment, tokens=1000, drafted=1600, accepted=700, drafts=200, drafts_accepted_to_1=150,
        drafts_accepted_to_2=100, drafts_accepted_to_4=10,
    )  # fmt: skip
    panel = lookahead_panel(deployment, now=NOW)
    assert panel is not None
    assert panel["by_position"] == [(1, 0.75), (2, 0.5), (4, 0.05)]


def test_an_engine_that_tells_no_positions_has_none(deployment: Deployment) -> None:
    counted(deployment, tokens=1000, drafted=1600, accepted=700)
    panel = lookahead_panel(deployment, now=NOW)
    assert panel is not None
    assert not panel["by_position"]


@pytest.mark.parametrize("told", [(10, 40, 5), (1000, 0, 0)])
def test_too_little_says_nothing(deployment: Deployment, told: tuple[int, int, int]) -> None:
    tokens, drafted, accepted = told
    counted(deployment, tokens=tokens, drafted=drafted, accepted=accepted)
    assert lookahead_panel(deployment, now=NOW) is None
