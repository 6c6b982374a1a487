"""Every page asked by its owner, a member, an outsider and nobody; two of them learn nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from apps.secrets.services.values import secret_set
from tests.apps.breadth import Choose, chosen
from tests.apps.hostile.test_ids import known_ids
from tests.apps.hostile.test_pages import NOT_PAGES, PART, VALUES
from tests.apps.pages import signed_in
from tests.factories import Cast, make_cast

pytestmark = pytest.mark.django_db

OPEN = (
    "/sign-in/", "/session/", "/join/", "/healthz", "/readyz", "/livez", "/schemas/config.json",
)  # fmt: skip
UNKNOWN = "zzzzzzzz"


@pytest.fixture
def cast(settings: Any, tmp_path: Any) -> Cast:
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    return make_cast()


def things_of(cast: Cast) -> dict[str, str]:
    """Make one of everything in the inside team; return what pages call it."""
    ids = known_ids(cast)
    secret = secret_set(team=cast.team, name="inside_token", value="v", user=cast.owner)
    key = cast.team.api_keys.get(owner=None)
    return {**ids, "secret_id": secret.id, "key_id": key.id, "kind": "csv"}


def pages(patterns: Any, before: str = "/") -> Iterator[str]:
    """Return the address of every page, its parts as they stand in the URL conf."""
    for each in patterns:
        path = before + str(each.pattern)
        if isinstance(each, URLResolver) and not path.startswith(NOT_PAGES):
            yield from pages(each.url_patterns, path)
        elif isinstance(each, URLPattern) and not path.startswith(NOT_PAGES):
            yield path


def addresses(things: Mapping[str, str]) -> list[str]:
    """Return every page's address, with the things' names where they have one."""
    return [
        PART.sub(lambda part: things.get(_name(part[0]), VALUES.get(part[1], UNKNOWN)), path)
        for path in pages(get_resolver().url_patterns)
    ]


def _name(part: str) -> str:
    return part.strip("<>").rpartition(":")[2]


@chosen
def test_an_outsider_gets_from_every_page_what_there_is_not(cast: Cast, choose: Choose) -> None:
    things = things_of(cast)
    marks = {*things.values(), "inside-model", "inside_token"} - {"1", "csv", "fetch", "production"}
    client = signed_in(cast.outsider)
    known = choose(addresses(things))
    unknown = choose(addresses({"kind": things["kind"]}))
    for path, nowhere in zip(known, unknown, strict=True):
        answer: Any = client.get(path)
        assert answer.status_code == client.get(nowhere).status_code, path
        shown = answer.getvalue().decode(errors="replace").replace(path, "")
        assert not [mark for mark in marks if mark in shown], path


def test_nobody_gets_past_the_sign_in_on_any_page(cast: Cast) -> None:
    for path in addresses(things_of(cast)):
        if not path.startswith(OPEN):
            for ask in (Client().get, Client().post):
                answer = ask(path)
                assert answer.status_code in (302, 401, 405), path
                assert answer.headers.get("Location", "/sign-in/").startswith("/sign-in/"), path


@chosen
@pytest.mark.parametrize("who", ["owner", "member"])
def test_who_belongs_gets_every_page_or_is_told_who_may(
    cast: Cast, who: str, choose: Choose
) -> None:
    things = things_of(cast)
    client = signed_in(getattr(cast, who))
    got = {path: client.get(path).status_code for path in choose(addresses(things))}
    assert not [path for path, status in got.items() if status >= 500]
    # The downloads have no files here.
    hidden = [path for path, status in got.items() if status == 404 and UNKNOWN not in path]
    download = f"/artifacts/{things['artifact_id']}/download"
    assert hidden == [path for path in got if path == download]
