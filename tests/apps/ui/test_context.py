"""The sidebar says in which place a page is, and links of nodes lead to pages."""

import re

import pytest

from tests import factories
from tests.apps.pages import signed_in
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
CURRENT = re.compile(r'<a href="[^"]*" aria-current="page">([^<]*)</a>')


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/", "Overview"),
        ("/artifacts/", "Artifacts"),
        ("/nodes/", "Nodes"),
        ("/nodes/{node}/", "Nodes"),
        ("/usage/", "Usage"),
        ("/audit/", "Audit"),
        ("/remote-code/", "Remote code"),
        ("/teams/", "People"),
        ("/keys/", "API keys"),
        ("/docs/rest/secrets_post/", "REST API"),
        ("/settings/", "Settings"),
    ],
)
def test_a_page_is_in_one_place(path: str, place: str) -> None:
    browser = signed_in(factories.make_cast().organisation_admin)
    node = factories.make_node()
    page = browser.get(path.format(node=node.id), follow=True).content.decode()
    assert CURRENT.findall(folded(page)) == [place]


def test_the_list_of_nodes_and_what_is_done_to_one_lead_to_its_page() -> None:
    browser = signed_in(factories.make_cast().organisation_admin)
    node = factories.make_node()
    assert f'<a href="/nodes/{node.id}/">{node.name}</a>' in browser.get("/nodes/").content.decode()
    done = browser.post(f"/nodes/{node.id}/cordon/", follow=True)
    assert done.redirect_chain == [(f"/nodes/{node.id}/", 302)]
    assert "takes nothing new" in done.content.decode()
