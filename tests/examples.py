"""How many examples a property is tried with."""

import os

import hypothesis


def examples(count: int) -> hypothesis.settings:
    """Return the settings for so many examples where new ones are looked for, as in test-long.

    `make test` tries the same of them in every run, a quarter, and ten at least.
    """
    looks_for_new_ones = os.environ.get("HYPOTHESIS_PROFILE") == "random"
    tried = count if looks_for_new_ones else min(count, max(10, count // 4))
    return hypothesis.settings(max_examples=tried, deadline=None)
