"""What a roll looks like, and that a person can stop one and say how the next one moves."""

from dataclasses import asdict

import pytest
from playwright.sync_api import expect

from apps.deployments.environments.rolling.history import event_add
from apps.deployments.models import AnswerCheck, AnswerPair, Environment
from controlplane.domain.rolling.answer_comparison import Answer, paired
from controlplane.domain.rolling.roll import Roll
from tests import factories
from tests.browser.conftest import OpenPage
from tests.browser.stage import Stage
from tests.browser.test_accessibility import WIDTHS, violations

pytestmark = pytest.mark.browser


def answer_check(place: Environment) -> AnswerCheck:
    """Both deployments were asked, and one answer differs late in a long text."""
    check = AnswerCheck.objects.create(
        environment=place, candidate_id=place.candidate_id, current_id=place.current_id,
        settings={"min_equal_percent": 50}, prompts=["Name a city.", "Tell me a story."],
        state="finished", outcome="passed", sentence="1 of 2 answers are equal.",
    )  # fmt: skip
    for number, (one, other) in enumerate([("Paris", "Paris"), ("a" * 900 + "b", "a" * 900)], 1):
        sides = [Answer(text=each, characters=len(each)) for each in (one, other)]
        pair = paired(number, *sides)
        AnswerPair.objects.create(
            check_of=check, number=number, is_equal=pair.is_equal, differs_at=pair.differs_at,
            candidate=asdict(pair.candidate), current=asdict(pair.current),
        )  # fmt: skip
    return check


@pytest.fixture
def place(stage: Stage) -> Environment:
    """Production, half on its way to another deployment."""
    candidate = factories.make_deployment(model=stage.deployment.model, name="deployment-next")
    answer = Environment.objects.get(model=stage.deployment.model, name="production")
    answer.candidate = candidate
    answer.promotion = {
        "status": "RAMPING_UP",
        "percent_traffic_to_new_version": 50,
        "error_message": None,
        "plan": {"rolling_deploy": True},
        "roll": Roll(total=4, moved=1, percent=50, held_since=0.0).to_json(),
        "waits_for": "50 % hold for 42 s more.",
        "answers": {"check_id": answer_check(answer).id, "is_decided": True},
    }
    answer.save()
    event_add(
        answer,
        code="share_raised",
        sentence="50 % of the traffic goes to its 2 ready replicas.",
        percents=(25, 50),
    )
    return answer


@pytest.mark.parametrize(
    "width", [320, *(pytest.param(width, marks=pytest.mark.long) for width in WIDTHS)]
)
@pytest.mark.usefixtures("measured")
def test_a_roll_has_no_serious_violation_and_fits(
    visit: OpenPage, stage: Stage, place: Environment, width: int
) -> None:
    entries = []
    of_model = f"/models/{place.model_id}/"
    for path in (of_model, f"{of_model}{stage.deployment.id}/"):
        page = visit(path, viewport={"width": width, "height": 800})
        page.get_by_text("Answers side by side").click()
        expect(page.get_by_text("Differs at character 901")).to_be_visible()
        entries += violations(page, path)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
        page.context.close()
    assert entries == []


def test_a_person_pauses_a_roll_and_says_how_the_next_one_moves(
    visit: OpenPage, place: Environment
) -> None:
    page = visit(f"/models/{place.model_id}/")
    expect(page.get_by_text("50 % hold for 42 s more.")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.get_by_role("button", name="production: At once").click()
    dialog = page.get_by_role("dialog", name="How production moves")
    dialog.get_by_label("Traffic moves").select_option("Replica by replica")
    dialog.get_by_label("Canary: holds at").fill("10")
    dialog.get_by_text("Answer guard: both answer the same prompts first").click()
    dialog.get_by_label("Prompts for both").fill("Hi\nWho are you?")
    dialog.get_by_role("button", name="Keep").click()
    expect(page.get_by_role("button", name="production: Replica by replica")).to_be_visible()
    place.refresh_from_db()
    assert place.promotion_settings["canary_percent"] == 10
    assert place.promotion_settings["rolling_deploy"] is True
    assert place.promotion_settings["answer_guard"]["prompts"] == ["Hi", "Who are you?"]
