"""What the page of keys says of a key."""

import pytest

from apps.accounts.keys.views import limit_words
from apps.accounts.models import ApiKey


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({}, []),
        ({"environments": ["production", "staging"]}, ["only production, staging"]),
        ({"environments": [], "model_ids": []}, ["no environment", "no model"]),
        ({"model_ids": ["abc"], "requests_per_minute": 0}, ["models abc", "0 requests/min"]),
        ({"parallel_requests": 2, "monthly_spend": 5}, ["2 at a time", "5 a month"]),
    ],
)
def test_each_limit_is_told_and_an_empty_list_is_one(
    limits: dict[str, object], words: list[str]
) -> None:
    assert limit_words(ApiKey(**limits)) == words
