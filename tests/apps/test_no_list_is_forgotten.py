"""Every list of REST is among those whose queries are counted and that are measured."""

import re
from typing import Any

import pytest

from apps.rest.specification import document
from benchmarks.many_rows import Amounts, fill
from benchmarks.pages import pages_of
from tests.factories import make_cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def paths_of_lists() -> set[str]:
    """Return the paths whose GET answers a page of rows."""
    schema = document()
    objects = schema["components"]["schemas"]
    return {
        path
        for path, operations in schema["paths"].items()
        if "pagination" in objects.get(_answer(operations), {}).get("properties", {})
    }


def _answer(operations: Any) -> str:
    content = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
    reference = content.get("application/json", {}).get("schema", {}).get("$ref", "")
    return str(reference.rpartition("/")[2])


def test_every_list_of_rest_is_counted_and_measured() -> None:
    admin = make_cast().organisation_admin
    filled = fill(admin.team, admin, Amounts(configs=1, builds=4, deployments=1, others=1))
    entries = [path.partition("?")[0] for path in pages_of(filled).values()]
    lists = paths_of_lists()
    patterns = {path: re.sub(r"\{\w+\}", "[^/]+", path) for path in lists}
    missing = {
        path
        for path, each in patterns.items()
        if not any(re.fullmatch(each, one) for one in entries)
    }
    assert len(lists) > 15
    assert missing == set()
