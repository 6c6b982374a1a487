"""How long a wrong key takes tells nothing of how near it came."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.hashing import sha256_hex
from apps.accounts.models import ApiKey
from apps.accounts.selectors import api_key_by_text
from tests.factories import make_api_key

pytestmark = pytest.mark.django_db


def test_keys_are_found_by_their_hash_and_kept_as_nothing_else() -> None:
    text = make_api_key()
    key = ApiKey.objects.get()
    assert key.secret_sha256 == sha256_hex(text)
    api_key = api_key_by_text(text)
    assert api_key is not None
    assert api_key.pk == key.pk
    assert api_key_by_text(text[:-1]) is None
    columns = [str(getattr(key, field.attname)) for field in ApiKey._meta.concrete_fields]
    assert not [each for each in columns if text.partition(".")[2] in each]


def test_a_near_guess_is_looked_for_exactly_as_a_far_one() -> None:
    text = make_api_key()
    near, far = text[:-1] + "!", "x" * len(text)
    assert statements_for(near) == statements_for(far)


def statements_for(guess: str) -> list[str]:
    """Return what the database is asked for a guess, whose hash alone it is told."""
    with CaptureQueriesContext(connection) as capture_queries_context:
        assert api_key_by_text(guess) is None
    statements = [each["sql"] for each in capture_queries_context]
    assert len([each for each in statements if sha256_hex(guess) in each]) == 1
    assert not [each for each in statements if guess in each]
    return [each.replace(sha256_hex(guess), "its hash") for each in statements]
