"""Lists: what is searched for, in which state and which page, stays in the address."""

import pytest
from django.http import QueryDict
from django.test import Client, RequestFactory

from apps.secrets.services.values import secret_set
from apps.ui import listing
from apps.ui.templatetags.ui import sorted_head
from controlplane.domain.lifecycle import BuildState, DeploymentState
from tests.apps.pages import signed_in
from tests.factories import (
    make_api_key,
    make_artifact,
    make_build,
    make_cast,
    make_config,
    make_deployment,
    make_finished_build,
    make_model,
    make_revision,
)
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def client() -> Client:
    """Somebody whose team has two of everything: `alpha` and `beta`."""
    cast = make_cast()
    for name, blocks in (("alpha", False), ("beta", True)):
        revision = make_revision(
            config=make_config(team=cast.team, name=name), repo=f"org/{name}", blocks_build=blocks
        )
        artifact = make_artifact(team=cast.team, passport={"checkpoint": {"repo": f"org/{name}"}})
        build = make_finished_build(revision=revision, artifact=artifact)
        if blocks:
            make_build(revision=revision, state=BuildState.FAILED)
        model = make_model(team=cast.team, name=name)
        state = DeploymentState.INACTIVE if blocks else DeploymentState.ACTIVE
        make_deployment(model=model, build=build, name=f"first-{name}", state=state)
        secret_set(team=cast.team, name=name, value="hidden", user=cast.owner)
        make_api_key(team=cast.team, name=name)
    return signed_in(cast.owner)


@pytest.mark.parametrize("path", ["/configs/", "/builds/", "/models/", "/artifacts/"])
def test_words_leave_what_is_called_so_and_are_still_in_the_field(
    client: Client, path: str
) -> None:
    page = client.get(path, {"q": "ALPHA"}).content.decode()
    rows = page[page.index("<tbody") : page.rindex("</tbody>")]
    assert "alpha" in rows
    assert "beta" not in rows
    assert 'value="ALPHA"' in page
    nothing = client.get(path, {"q": "no-such-thing"}).content.decode()
    assert "Nothing matches" in nothing
    assert f'href="{path}"' in nothing


@pytest.mark.parametrize(
    ("path", "column"),
    [
        ("/configs/", "name"),
        ("/models/", "name"),
        ("/artifacts/", "published"),
        ("/builds/", "config"),
        ("/secrets/", "name"),
        ("/keys/", "name"),
    ],
)
def test_a_list_is_sorted_both_ways_and_its_head_says_which(
    client: Client, path: str, column: str
) -> None:
    for sort, way, first in ((column, "ascending", "alpha"), (f"-{column}", "descending", "beta")):
        page = client.get(path, {"sort": sort}).content.decode()
        rows = page[page.index("<tbody") : page.rindex("</tbody>")]
        last = {"alpha": "beta", "beta": "alpha"}[first]
        assert rows.index(first) < rows.index(last), (path, sort)
        assert f'aria-sort="{way}"' in page
    assert "aria-sort" not in client.get(path, {"sort": "nonsense"}).content.decode()


@pytest.mark.parametrize(
    ("path", "state"),
    [("/configs/", "can_build"), ("/builds/", "failed"), ("/models/", "inactive")],
)
def test_a_state_leaves_what_is_in_it_and_an_unknown_one_is_none(
    client: Client, path: str, state: str
) -> None:
    every = client.get(path).content.decode().count("<tr id=")
    some = folded(client.get(path, {"state": state}).content.decode())
    assert 0 < some.count("<tr id=") < every
    assert f'<option value="{state}" selected>' in some
    assert client.get(path, {"state": "none-such"}).content.decode().count("<tr id=") == every


def test_the_next_page_and_the_poll_keep_the_filters(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing.page_in, "__defaults__", (1,))
    page = client.get("/builds/", {"q": "beta", "page": "2"}).content.decode()
    assert 'href="?q=beta&amp;page=1"' in page
    assert 'hx-get="/builds/?q=beta&amp;page=2"' in page
    assert client.get("/builds/?page=999").status_code == 200


def test_a_build_is_found_by_its_number(client: Client) -> None:
    page = client.get("/builds/", {"q": "2"}).content.decode()
    assert 'id="build-2"' in page
    assert 'id="build-1"' not in page


def test_a_number_that_no_build_can_have_finds_nothing(client: Client) -> None:
    page = client.get("/builds/", {"q": "9" * 60}).content.decode()
    assert "Nothing matches" in page


def test_the_filters_are_written_as_an_address_reads_them() -> None:
    list_query = listing.ListQuery(words="a&b c", state="failed", states=("failed",))
    assert QueryDict(list_query.query).dict() == {"q": "a&b c", "state": "failed"}


def test_what_else_is_asked_of_a_page_stays_in_the_links_of_its_list() -> None:
    request = RequestFactory().get("/", {"label": "zone=b", "sort": "-pool", "other": "gone"})
    request_sent = listing.list_query_in(request, sorts={"pool"}, keeps=["label"], anchor="nodes")
    assert QueryDict(listing.sorted_query(request_sent, "pool")).dict() == {
        "label": "zone=b",
        "sort": "pool",
    }
    assert sorted_head(request_sent, "pool", "Pool")["address"].endswith("sort=pool#nodes")


def test_items_without_a_value_come_last_whichever_way_they_are_sorted() -> None:
    columns = {"load": lambda item: item}
    assert listing.sorted_items([3, None, 1], "load", columns) == [1, 3, None]
    assert listing.sorted_items([3, None, 1], "-load", columns) == [3, 1, None]
    assert listing.sorted_items([3, None, 1], "nonsense", columns) == [3, None, 1]
