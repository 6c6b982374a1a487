"""Revisions side by side, restored, and a config with another name."""

import pytest

from apps.configs.models import Config, Revision
from apps.configs.services.configs import config_create, revision_create
from tests.apps.pages import committed_queries, queries_of, signed_in
from tests.factories import Cast, config_text, make_cast, make_config

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def two_revisions() -> tuple[Cast, Config]:
    cast = make_cast()
    config = config_create(team=cast.team, name="tiny", text=config_text(), user=cast.owner)
    second = config_text().replace("max_batch_size: 4", "max_batch_size: 6")
    revision_create(config=config, text=second, user=cast.owner)
    return cast, config


def test_two_revisions_are_compared_by_setting_finding_and_memory() -> None:
    cast, config = two_revisions()
    plan = {"per_gpu": {"weights_bytes": 1024}, "capacity": {"kv_tokens": 7}}
    finding = {"code": "EH777", "message": "It is gone.", "severity": "error", "fields": []}
    Revision.objects.filter(number=1).update(plan=plan, findings=[finding])
    Revision.objects.filter(number=2).update(
        plan=plan | {"capacity": {"kv_tokens": 9}}, findings=[]
    )
    page = signed_in(cast.owner).get(f"/configs/{config.id}/revisions/?from=2&to=1")
    words = page.content.decode()
    assert "Revision 1 → 2" in words
    assert '<span title="trt_llm.build.max_batch_size">Batch size</span>' in words
    assert "EH777" in words
    assert "Tokens in all" in words
    assert "Weights" not in words


def test_a_config_with_one_revision_has_nothing_to_compare() -> None:
    cast = make_cast()
    config = config_create(team=cast.team, name="one", text=config_text(), user=cast.owner)
    page = signed_in(cast.owner).get(f"/configs/{config.id}/revisions/").content.decode()
    assert "Compare" not in page


def test_the_page_takes_the_committed_number_of_queries() -> None:
    cast, config = two_revisions()
    address = f"/configs/{config.id}/revisions/"
    assert queries_of(signed_in(cast.owner), address) == committed_queries("history")


def test_an_older_revision_is_restored_as_the_next_one() -> None:
    cast, config = two_revisions()
    answer = signed_in(cast.owner).post(f"/configs/{config.id}/revisions/1/restore/")
    assert answer.headers["Location"] == f"/configs/{config.id}/"
    assert Revision.objects.get(config=config, number=3).text == config_text()


def test_a_config_gets_another_name_that_is_free() -> None:
    cast, config = two_revisions()
    make_config(team=cast.team, name="taken")
    client = signed_in(cast.owner)
    client.post(f"/configs/{config.id}/rename/", {"name": " small "})
    assert Config.objects.get(id=config.id).name == "small"
    for name in ("taken", ""):
        client.post(f"/configs/{config.id}/rename/", {"name": name})
        assert Config.objects.get(id=config.id).name == "small"


@pytest.mark.parametrize("path", ["revisions/1/restore/", "rename/"])
def test_an_outsider_changes_nothing(path: str) -> None:
    cast, config = two_revisions()
    answer = signed_in(cast.outsider).post(f"/configs/{config.id}/{path}", {"name": "theirs"})
    assert answer.status_code == 404
    assert signed_in(cast.outsider).get(f"/configs/{config.id}/revisions/").status_code == 404
    assert Revision.objects.count() == 2
