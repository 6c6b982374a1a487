"""How long a wrong key takes tells nothing of how near it came."""

import statistics
import time

import pytest

from apps.accounts.hashing import sha256_hex
from apps.accounts.models import ApiKey
from apps.accounts.selectors import api_key_by_text
from tests.factories import make_api_key

pytestmark = pytest.mark.django_db


def test_keys_are_found_by_their_hash_and_kept_as_nothing_else() -> None:
    text = make_api_key()
    key = ApiKey.objects.get()
    assert key.secret_sha256 == sha256_hex(text)
    found = api_key_by_text(text)
    assert found is not None
    assert found.pk == key.pk
    assert api_key_by_text(text[:-1]) is None
    columns = [str(getattr(key, field.attname)) for field in ApiKey._meta.concrete_fields]
    assert not [each for each in columns if text.partition(".")[2] in each]


@pytest.mark.long
def test_a_near_guess_takes_as_long_as_a_far_one() -> None:
    text = make_api_key()
    near, far = text[:-1] + "!", "x" * len(text)
    for _ in range(200):
        api_key_by_text(near), api_key_by_text(far)
    seconds: dict[str, list[float]] = {near: [], far: []}
    for _ in range(3_000):
        for guess, taken in seconds.items():
            start = time.perf_counter()
            api_key_by_text(guess)
            taken.append(time.perf_counter() - start)
    medians = [statistics.median(each) for each in seconds.values()]
    spread = statistics.median(abs(each - medians[1]) for each in seconds[far])
    assert abs(medians[0] - medians[1]) < spread
