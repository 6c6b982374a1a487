"""The pages of the REST API: every operation of the document, whole, and found by words."""

import json
import os
import shlex
import subprocess
from typing import Any

import pytest
from django.test import Client

from apps.dashboard.rest_reference.commands import curl_of, quoted
from apps.dashboard.rest_reference.operations import operations
from apps.rest.specification import document
from apps.secrets.models import Secret
from tests.apps.breadth import Choose, chosen
from tests.apps.pages import signed_in
from tests.debian_parts import program
from tests.factories import make_api_key, make_cast, make_team
from tests.folded import folded
from tests.waiting import DEADLINE_SECONDS

pytestmark = pytest.mark.django_db


@chosen
def test_every_operation_of_the_document_is_there_and_opens(choose: Choose) -> None:
    client = signed_in(make_cast().member)
    index = client.get("/docs/rest/").content.decode()
    assert 'aria-current="page">REST API' in folded(index)
    for name in operations():
        assert f'href="/docs/rest/{name}/"' in index, name
    for name in choose([*operations()]):
        operation = operations()[name]
        page = client.get(f"/docs/rest/{name}/").content.decode()
        assert f"{operation.method} {operation.path}</h1>" in page, name
    count = sum(len(methods) for methods in document()["paths"].values())
    assert len(operations()) == count


def test_a_page_says_what_goes_in_and_what_comes_out() -> None:
    page = signed_in(make_cast().member).get("/docs/rest/secrets_post/").content.decode()
    for words in ("hf_access_token", "Answer 200", "last_used_at", "Idempotency-Key", "429"):
        assert words in page
    assert 'aria-current="page">REST API' in folded(page)


@pytest.mark.parametrize(
    ("search", "found", "left_out"),
    [
        ("post /v1/builds", "builds_post", "secrets_post"),
        ("monthly_spend", "api_keys_post", "builds_post"),
    ],
)
def test_a_search_leaves_the_rest_out(search: str, found: str, left_out: str) -> None:
    page = signed_in(make_cast().member).get("/docs/rest/", {"q": search}).content.decode()
    assert f'href="/docs/rest/{found}/"' in page
    assert f'href="/docs/rest/{left_out}/"' not in page


def test_a_search_without_a_hit_says_so_and_echoes_text_only() -> None:
    client = signed_in(make_cast().member)
    page = client.get("/docs/rest/", {"q": "<script>nothing"}).content.decode()
    assert "No operation says that" in page
    assert "<script>nothing" not in page


def test_an_operation_that_is_not_there_is_a_404_and_nobody_else_reads_it() -> None:
    assert signed_in(make_cast().member).get("/docs/rest/nothing_get/").status_code == 404
    assert Client().get("/docs/rest/").status_code == 302


def test_every_command_is_one_of_a_shell_and_sends_the_example() -> None:
    for operation in operations().values():
        words = shlex.split(curl_of(operation))
        assert (words[0], "{" in words[3]) == ("curl", False), operation.name
        if "-d" in words:
            assert operation.request
            sent = json.loads(words[words.index("-d") + 1])
            assert sent == operation.request.example, operation.name


def test_a_quote_in_an_example_does_not_end_the_word() -> None:
    assert shlex.split(quoted("it's $HOME `a`")) == ["it's $HOME `a`"]


@pytest.mark.django_db(transaction=True)
def test_a_command_works_as_it_stands(live_server: Any, settings: Any, tmp_path: Any) -> None:
    program("curl")
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    team = make_team()
    key = make_api_key(team=team)
    ran = subprocess.run(
        ["bash", "-euc", curl_of(operations()["secrets_post"])],
        env=os.environ | {"ENGINEHOUSE_URL": live_server.url, "ENGINEHOUSE_API_KEY": key},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert Secret.objects.get(team=team).name == "example_token"
