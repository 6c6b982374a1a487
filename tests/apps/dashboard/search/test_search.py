"""The search leads to places and to what a team has, and to nothing of another team."""

import pytest

from apps.dashboard.search.selectors import EACH, hits
from apps.secrets.models import Secret
from tests.apps.pages import signed_in
from tests.factories import (
    Cast,
    make_build,
    make_cast,
    make_config,
    make_deployment,
    make_model,
    make_node,
    make_revision,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def cast() -> Cast:
    """A team with one thing of each kind that is called `qwen`."""
    cast = make_cast()
    config = make_config(team=cast.team, name="qwen-config")
    make_build(team=cast.team, revision=make_revision(config=config), number=41)
    make_deployment(model=make_model(team=cast.team, name="qwen-chat"), name="qwen-2")
    make_node(name="qwen-host")
    Secret.objects.create(team=cast.team, name="qwen_token", nonce=b"", ciphertext=b"")
    return cast


def found(cast: Cast, words: str) -> list[tuple[str, str]]:
    return [(each.kind, each.name) for each in hits(user=cast.owner, words=words)]


def test_words_find_every_kind_by_name(cast: Cast) -> None:
    assert found(cast, "QWEN") == [
        ("Config", "qwen-config"),
        ("Model", "qwen-chat"),
        ("Deployment", "qwen-2"),
        ("Build", "Build 41"),
        ("Node", "qwen-host"),
        ("Secret", "qwen_token"),
    ]


@pytest.mark.parametrize("words", ["41", "#41", "build 41"])
def test_a_build_is_found_by_its_number(cast: Cast, words: str) -> None:
    assert ("Build", "Build 41") in found(cast, words)


@pytest.mark.parametrize("words", ["²", "9" * 40, "%", "_", "a'b"])
def test_what_looks_like_a_number_or_a_pattern_is_words(cast: Cast, words: str) -> None:
    assert ("Build", "Build 41") not in found(cast, words)


def test_without_words_every_place_is_there_that_the_person_is_shown(cast: Cast) -> None:
    names = [name for _, name in found(cast, "")]
    assert "Overview" in names
    assert "Settings" not in names
    assert "Settings" in [each.name for each in hits(user=cast.organisation_admin, words="")]


def test_of_many_the_first_are_shown(cast: Cast) -> None:
    for number in range(EACH + 2):
        make_config(team=cast.team, name=f"many-{number}")
    assert len(found(cast, "many-")) == EACH


def test_another_team_finds_nothing_of_it_and_is_told_so(cast: Cast) -> None:
    kinds = {each.kind for each in hits(user=cast.outsider, words="qwen")}
    assert kinds == {"Node"}
    page = signed_in(cast.outsider).get("/search/", {"q": "qwen-config<"}).content.decode()
    assert "Nothing is called <b>qwen-config&lt;</b>" in page
