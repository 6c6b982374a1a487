"""An environment goes back to what served there before, a step each time, or is told why not."""

import pytest

from apps.accounts.models import AuditEntry
from apps.deployments.environments.promoting import environment_promote
from apps.deployments.environments.rollback import environment_roll_back
from apps.deployments.history.changes import changes_list
from apps.deployments.history.switches import rollback_targets
from apps.deployments.models import Deployment, Environment
from apps.rest.errors import Conflict
from tests.apps.pages import signed_in
from tests.factories import make_cast, make_deployment, make_environment, make_model, make_replica

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def ready(model: object, name: str) -> Deployment:
    made = make_deployment(model=model, name=name)
    make_replica(deployment=made)
    return made


@pytest.fixture
def third() -> Deployment:
    """The third deployment that production of its model pointed at."""
    model = make_model()
    place = make_environment(model=model, name="production")
    for name in ("one", "two", "three"):
        place.refresh_from_db()
        environment_promote(environment=place, deployment=ready(model, name))
        Environment.objects.update(promotion_version=None, retiring=None)
    return Deployment.objects.get(name="three")


def production() -> Environment:
    return Environment.objects.get(name="production")


def back_once() -> str:
    back_to = environment_roll_back(environment=production())
    Environment.objects.update(promotion_version=None, retiring=None)
    return back_to.name


def test_each_time_leads_one_step_further_and_never_forth_again(third: Deployment) -> None:
    assert [back_once(), back_once()] == ["two", "one"]
    with pytest.raises(Conflict, match="has served in `production` before"):
        back_once()
    environment_promote(environment=production(), deployment=third)
    Environment.objects.update(promotion_version=None, retiring=None)
    assert rollback_targets([production()])[production().id].name == "one"


def test_a_busy_environment_hides_nothing_of_another(
    third: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.deployments.history.switches.LOOKED_BACK", 2)
    busy = make_environment(model=third.model, name="staging", current=third)
    for each in Deployment.objects.exclude(id=third.id).order_by("name"):
        busy.current = each
        busy.save()
    targets = rollback_targets([production(), busy])
    assert (targets[production().id].name, targets[busy.id].name) == ("two", "one")


def test_what_failed_is_passed_over_and_what_is_inactive_starts_again(third: Deployment) -> None:
    Deployment.objects.filter(name="two").update(state="failed")
    Deployment.objects.filter(name="one").update(state="inactive", wanted_replicas=0)
    assert environment_roll_back(environment=production()).name == "one"
    assert production().current == third, "it serves until the other is ready"
    assert production().candidate is not None
    assert Deployment.objects.get(name="one").state == "deploying"
    with pytest.raises(Conflict, match="on its way to `one`"):
        back_once()


def test_a_page_that_is_behind_rolls_back_nothing(third: Deployment) -> None:
    with pytest.raises(Conflict, match="points at `three` by now"):
        environment_roll_back(environment=production(), leaving="another")
    assert production().current == third


def test_the_page_has_one_button_for_it_and_says_who_did_what() -> None:
    cast = make_cast()
    model = make_model(team=cast.team)
    first, second = ready(model, "one"), ready(model, "two")
    make_environment(model=model, name="production", current=first)
    Environment.objects.update(current=second)
    client, path = signed_in(cast.owner), f"/models/{model.id}/"
    assert "Roll back to one" in client.get(f"{path}{second.id}/").content.decode()
    assert "Roll back" not in client.get(f"{path}{first.id}/").content.decode()
    assert "Roll back production to one" in client.get(path).content.decode()
    form = {"leaving": second.id}
    answer = client.post(f"{path}environments/production/roll-back/", form, follow=True)
    page = answer.content.decode()
    assert answer.redirect_chain[-1][0] == f"{path}{first.id}/"
    undo = f'action="{path}{second.id}/promote/"'
    assert undo in page.partition("is back at")[2].partition("Undo")[0]
    assert "<code>production</code> is back at <code>one</code>." in page
    assert "<code>production</code> rolled back from <code>two</code> to <code>one</code>" in page
    assert AuditEntry.objects.get(action="environment.roll_back").actor_label == cast.owner.email
    assert (
        signed_in(cast.outsider).post(f"{path}environments/production/roll-back/").status_code
        == 404
    )


def test_a_move_that_is_under_way_is_cancelled_where_it_is_said() -> None:
    cast = make_cast()
    model = make_model(team=cast.team)
    serving, coming = ready(model, "one"), make_deployment(model=model, state="deploying")
    make_environment(model=model, name="production", current=serving, candidate=coming)
    client, path = (
        signed_in(cast.owner),
        f"/models/{model.id}/environments/production/promotion/cancel/",
    )
    assert path in client.get(f"/models/{model.id}/{coming.id}/").content.decode()
    page = client.post(path, follow=True).content.decode()
    assert "stays where it is: the promotion is cancelled" in page
    assert production().candidate is None
    (latest,) = changes_list(model=model, environments=[production()], limit=1)
    assert latest.words == f"Promotion of `{coming.name}` to `production` cancelled"
