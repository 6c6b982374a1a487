"""Every operation of the OpenAPI document, asked by people who may not: none slips through."""

import re
from functools import cache
from typing import Any

import pytest
from django.test import Client

from apps.rest.specification import document
from tests.factories import Cast, make_api_key, make_cast

pytestmark = pytest.mark.django_db

OPEN = {"/v1/version"}
WRONG_BODIES: tuple[Any, ...] = ({}, {"nonsense": [1, {"a": None}]}, [1])
ERROR = {"code", "message", "fields", "hint", "source"}


@cache
def operations() -> list[tuple[str, str]]:
    return [
        (method, re.sub(r"\{(\w+)\}", _unknown, path))
        for path, methods in document()["paths"].items()
        for method in methods
        if path not in OPEN
    ]


def _unknown(parameter: re.Match[str]) -> str:
    return "4711" if parameter[1] == "number" else "zzzzzzzz"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def ask(method: str, path: str, key: str | None, body: Any = None) -> tuple[int, Any]:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    answer = getattr(Client(), method)(
        path,
        **({} if method == "get" else {"data": body or {}, "content_type": "application/json"}),
        headers=headers,
    )
    is_object = answer.headers.get("Content-Type") == "application/json"  # and not a file
    return answer.status_code, answer.json() if is_object and answer.content else None


def test_nobody_without_a_key_gets_past_any_operation() -> None:
    for method, path in operations():
        status, body = ask(method, path, None)
        assert (status, body["code"]) == (401, "unauthenticated"), (method, path)


@pytest.mark.parametrize("type", ["WORKSPACE_INVOKE", "WORKSPACE_EXPORT_METRICS"])
def test_keys_that_do_not_manage_get_past_none(cast: Cast, type: str) -> None:
    key = make_api_key(team=cast.team, type=type)
    for method, path in operations():
        status, body = ask(method, path, key)
        assert (status, body["code"]) == (403, "not_allowed"), (method, path)


@pytest.mark.parametrize(
    "turn", [0, *(pytest.param(turn, marks=pytest.mark.long) for turn in (1, 2))]
)
def test_what_does_not_exist_is_a_404_and_a_wrong_body_no_failure_of_ours(
    cast: Cast, turn: int
) -> None:
    """Of the wrong bodies each operation gets one; in three turns all of them."""
    key = make_api_key(user=cast.organisation_admin, type="PERSONAL")
    for number, (method, path) in enumerate(operations()):
        sent = WRONG_BODIES[(number + turn) % len(WRONG_BODIES)]
        status, body = ask(method, path, key, sent)
        assert status < 500, (method, path, sent, body)
        if status >= 400:
            assert set(body) - {"details"} == ERROR, (method, path, body)
        if "zzzzzzzz" in path:
            assert ask(method, path, key)[0] in {400, 404}, (method, path)


def test_methods_that_a_path_does_not_have_answer_in_the_one_body(cast: Cast) -> None:
    key = make_api_key(user=cast.owner, type="PERSONAL")
    for path in sorted({path for _, path in operations()}):
        status, body = ask("put", path, key)
        assert (status, body["code"]) == (405, "method_not_allowed"), path
