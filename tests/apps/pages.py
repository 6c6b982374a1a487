"""Clients of the cast, and the committed number of queries of each list."""

import json
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.hashing import session_key_kept
from apps.accounts.models import User
from apps.accounts.signing_in.sessions import SessionStore

_COUNTS = Path(__file__).with_name("query_counts.json")


def signed_in(user: User) -> Client:
    """Return a browser in which `user` is signed in, by one row and nothing else."""
    key = secrets.token_hex(16)
    Session.objects.create(
        session_key=session_key_kept(key),
        session_data=SessionStore().encode(
            {
                SESSION_KEY: user.pk,
                BACKEND_SESSION_KEY: "apps.accounts.signing_in.backends.PasswordBackend",
                HASH_SESSION_KEY: user.get_session_auth_hash(),
            }
        ),
        expire_date=SessionStore().get_expiry_date(),
    )
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = key
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
