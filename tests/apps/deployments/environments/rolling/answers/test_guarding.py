"""No traffic moves before both deployments were asked, and the answers compared."""

from collections.abc import Callable
from datetime import timedelta

import pytest
import time_machine

from apps.accounts.models import ApiKey, AuditEntry
from apps.deployments.environments.promoting import environment_promote
from apps.deployments.environments.rollback import environment_roll_back
from apps.deployments.environments.rolling.answers.asking import (
    answer_check_begin,
    answer_check_end,
    answer_check_key,
    answer_pair_store,
)
from apps.deployments.environments.rolling.answers.leasing import ANSWER_CHECK, MOST_CLAIMS
from apps.deployments.environments.rolling.answers.selectors import (
    CHECKS_KEPT,
    answer_checks_prune,
)
from apps.deployments.environments.rolling.commands import promotion_cancel, promotion_resume
from apps.deployments.environments.rolling.history import event_list
from apps.deployments.environments.services import environment_configure, environment_create
from apps.deployments.models import AnswerCheck, Deployment, Environment
from apps.leases.lease import Lease
from apps.leases.services import lease_claim
from apps.leases.sweeping import leases_sweep
from apps.rest.errors import InvalidInput
from controlplane import clock
from controlplane.domain.rolling.answer_comparison import Answer, paired, unanswered
from tests.apps.deployments.environments.rolling.test_rolling import World
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast
from tests.factories_answers import make_answer_check

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker"), pytest.mark.wide]
Begin = Callable[..., AnswerCheck]
GUARD = {"prompts": ["Hi", "Who?"], "min_equal_percent": 100}


@pytest.fixture
def world(cast: Cast) -> World:
    return World(cast)


@pytest.fixture
def begun(world: World) -> Begin:
    """Begin a promotion with a guard, up to where both may be asked."""

    def begin(action: str = "PAUSE", **settings: object) -> AnswerCheck:
        world.begin(**{"rolling_deploy": True, **settings}, answer_guard=GUARD | {"action": action})
        for _ in range(4):
            world.turn()
        check = AnswerCheck.objects.get()
        assert (world.percent, world.place.promotion["step_code"]) == (0, "waits_for_answers")
        assert check.asked_at is not None
        return check

    return begin


def claim(check: AnswerCheck) -> Lease:
    lease = lease_claim(kind=ANSWER_CHECK, id=check.id)
    assert lease is not None
    return lease


def answer(lease: Lease, number: int, candidate: str | None, current: str = "Hello.") -> None:
    both = (candidate, current)
    sides = [
        unanswered("The engine answered 500.") if each is None
        else Answer(text=each, characters=len(each)) for each in both
    ]  # fmt: skip
    answer_pair_store(lease=lease, pair=paired(number, *sides))


def answered(check: AnswerCheck, *candidate: str | None) -> None:
    """Do what a worker does."""
    lease = claim(check)
    for number, each in enumerate(candidate, start=1):
        answer(lease, number, each)
    assert answer_check_end(lease=lease)


def test_traffic_moves_once_the_answers_are_equal(world: World, begun: Begin) -> None:
    check = begun()
    assert "no worker has begun yet" in world.place.promotion["waits_for"]
    answered(check, "Hello.", "Hello.")
    world.turns_until(25)
    event = event_list(environment=world.place).get(code="answers")
    assert event.sentence == "2 of 2 answers are equal."


def test_other_answers_pause_it_with_the_prompts_and_a_person_may_go_on(
    cast: Cast, world: World, begun: Begin
) -> None:
    answered(begun(), "Hello.", "Hello!")
    world.turn(2)
    promotion = world.place.promotion
    assert (promotion["status"], world.percent) == ("PAUSED", 0)
    assert promotion["waits_for"].endswith("Different: prompt 2.")
    shown = signed_in(cast.member).get(f"/models/{world.model.id}/").content.decode()
    assert "Differs at character 6" in shown
    path = f"/v1/models/{world.model.id}/environments/production/answer_check"
    report = client_of(cast.member).get(path)[1]
    assert (report["outcome"], report["prompts"]) == ("worse", 2)
    assert [each["differs_at"] for each in report["answers"]] == [None, 5]
    assert report["answers"][1]["prompt"] == "Who?"
    promotion_resume(environment=world.place)
    world.turns_until(25)
    assert AnswerCheck.objects.count() == 1, "it is not asked again"


def test_other_answers_return_it_where_that_is_asked_for(world: World, begun: Begin) -> None:
    answered(begun("CANCEL"), "Hello.", "Bye.")
    world.turn(4)
    promotion = world.place.promotion
    assert (promotion["status"], world.place.current) == ("FAILED", world.old)
    assert promotion["error_message"].endswith("Different: prompt 2.")


def test_one_without_an_answer_pauses_it_even_where_others_would_return(
    world: World, begun: Begin
) -> None:
    answered(begun("CANCEL"), "Hello.", None)
    world.turn(2)
    assert world.place.promotion["status"] == "PAUSED"
    assert (
        "prompt 2 by the candidate (The engine answered 500)"
        in (world.place.promotion["waits_for"])
    )


def test_all_traffic_in_one_step_waits_for_the_answers_as_well(world: World, begun: Begin) -> None:
    check = begun(rolling_deploy=False)
    answered(check, "Hello.", "Hello.")
    world.turn(8)
    assert (world.place.current, world.place.promotion) == (world.new, None)


def test_the_first_deployment_has_nothing_beside_it_and_that_is_said(world: World) -> None:
    place = environment_create(model=world.model, name="staging")
    place.promotion_settings = {"answer_guard": GUARD}
    place.save()
    environment_promote(environment=place, deployment=Deployment.objects.get(id=world.new.id))
    assert not AnswerCheck.objects.exists()
    assert "first deployment" in event_list(environment=place).get(code="answers").sentence


def test_a_way_back_is_not_asked_for_answers(world: World, begun: Begin) -> None:
    answered(begun(rolling_deploy=False), "Hello.", "Hello.")
    world.turn(8)
    environment_roll_back(environment=world.place)
    assert "answers" not in (world.place.promotion or {})
    assert AnswerCheck.objects.count() == 1


def test_what_is_no_longer_awaited_is_called_off_with_its_key(world: World, begun: Begin) -> None:
    check = begun()
    answer_check_key(lease=claim(check))
    promotion_cancel(environment=world.place)
    leases_sweep(ANSWER_CHECK)
    check.refresh_from_db()
    assert check.cancel_requested_at is not None
    AnswerCheck.objects.update(lease_expires_at=clock.now().replace(year=2020))
    leases_sweep(ANSWER_CHECK)
    check.refresh_from_db()
    assert check.state == "cancelled"
    assert ApiKey.objects.get(traffic_mark="answers").revoked_at is not None


def test_a_lost_worker_is_gone_on_from_and_three_leave_it_unanswered() -> None:
    check = make_answer_check(prompts=["Hi", "Who?"])
    for claims in range(MOST_CLAIMS):
        lease = claim(check)
        assert answer_check_begin(lease=lease).answered == ({1} if claims else set())
        answer_check_key(lease=lease)
        answer(lease, 1, "Hello.")
        AnswerCheck.objects.update(lease_expires_at=clock.now().replace(year=2020))
        leases_sweep(ANSWER_CHECK)
    check.refresh_from_db()
    assert (check.state, check.outcome) == ("finished", "unanswered")
    assert "was lost 3 times" in check.sentence
    assert not ApiKey.objects.filter(revoked_at=None, traffic_mark="answers").exists()


def test_a_form_sets_it_and_the_audit_trail_counts_its_prompts(cast: Cast, world: World) -> None:
    form = {
        "way": "replica", "max_surge_percent": "50", "stabilization_time_seconds": "5",
        "ramp_up_duration_seconds": "600", "prompts": 'Hi\r\n{"messages": [{"content": "Who?"}]}',
        "min_equal_percent": "90", "answer_action": "CANCEL",
        "max_length_difference_percent": "20",
    }  # fmt: skip
    path = f"/models/{world.model.id}/environments/production/moves/"
    browser = signed_in(cast.member)
    assert browser.post(path, form).status_code == 302
    answer_guard = world.place.promotion_settings["answer_guard"]
    assert answer_guard == {
        "prompts": ["Hi", {"messages": [{"content": "Who?"}]}], "min_equal_percent": 90,
        "action": "CANCEL", "max_length_difference_percent": 20, "require_valid_schema": False,
    }  # fmt: skip
    entry = AuditEntry.objects.filter(action="environment.configure").latest("id")
    assert entry.after["answer_guard"]["prompts"] == 2
    refused = browser.post(path, form | {"prompts": '{"messages": []}'}, follow=True)
    assert "Prompt 1: <code>messages</code> is missing or empty" in refused.content.decode()
    assert browser.post(path, form | {"prompts": ""}).status_code == 302
    assert world.place.promotion_settings["answer_guard"] is None


def test_a_valid_schema_is_asked_for_only_where_a_prompt_names_one(
    cast: Cast, world: World
) -> None:
    path = f"/v1/models/{world.model.id}/environments/production"
    member = client_of(cast.member)
    guard = GUARD | {"require_valid_schema": True}
    status, report = member.patch(path, {"promotion_settings": {"answer_guard": guard}})
    assert (status, "No prompt has" in str(report)) == (400, True)
    status, report = member.get(f"{path}/answer_check")
    assert (status, "has asked for answers" in report["message"]) == (404, True)


def test_an_environment_counts_the_prompts_and_their_own_address_has_them(
    cast: Cast, world: World
) -> None:
    path, member = f"/v1/models/{world.model.id}/environments/production", client_of(cast.member)
    assert member.get(f"{path}/answer_guard")[0] == 404
    lone = {"promotion_settings": {"answer_guard": {"min_equal_percent": 80}}}
    status, report = member.patch(path, lone)
    assert (status, "has no prompts to ask" in str(report)) == (400, True)
    member.patch(path, {"promotion_settings": {"answer_guard": GUARD}})
    status, report = member.patch(path, lone)
    shown = report["environment"]["promotion_settings"]["answer_guard"]
    assert (status, shown["prompt_count"], shown["min_equal_percent"]) == (
        200, len(GUARD["prompts"]), 80,
    )  # fmt: skip
    assert "prompts" not in shown
    status, whole = member.get(f"{path}/answer_guard")
    assert (status, whole) == (200, {**shown, "prompts": GUARD["prompts"]})


def test_a_model_that_is_not_asked_for_chat_is_refused_with_what_it_is_asked_at(
    world: World,
) -> None:
    Deployment.objects.filter(id=world.old.id).update(
        spec={"trt_llm": {"runtime": {"webserver_default_route": "/v1/embeddings"}}}
    )
    with pytest.raises(InvalidInput, match="is asked at `/v1/embeddings`"):
        environment_configure(environment=world.place, promotion_settings={"answer_guard": GUARD})
    environment_configure(environment=world.place, promotion_settings={"answer_guard": None})


def test_checks_are_forgotten_after_their_time_but_none_that_a_promotion_waits_for() -> None:
    make_answer_check()
    make_answer_check()
    AnswerCheck.objects.update(state="finished")
    Environment.objects.filter(id=AnswerCheck.objects.latest("id").environment_id).update(
        candidate=None
    )
    with time_machine.travel(clock.now() + CHECKS_KEPT + timedelta(hours=1), tick=False):
        assert answer_checks_prune() == 1
