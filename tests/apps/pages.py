"""Clients of the cast, and the committed number of queries of each list."""

import json
from pathlib import Path
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User

_COUNTS = Path(__file__).with_name("query_counts.json")


def signed_in(user: User) -> Client:
    """Return a browser in which `user` is signed in."""
    client = Client()
    client.force_login(user)
    return client


def polled(client: Client, path: str, **headers: str) -> Any:
    """Return the answer to a poll of a page's part."""
    return client.get(path, headers={"HX-Request": "true"} | headers)


def queries_of(client: Client, path: str) -> int:
    """Return how many queries a visit takes."""
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(path).status_code == 200
    return len(queries)


def committed_queries(name: str) -> int:
    """Return the number in query_counts.json: more is a regression, fewer is to be written down."""
    return int(json.loads(_COUNTS.read_text())[name])
