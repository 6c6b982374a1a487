"""Whatever a child reports as JSON can be stored."""

import json
import os
from types import MappingProxyType
from typing import Any

import pytest

from controlplane.domain.storable import storable, unstorable_text


@pytest.mark.parametrize(
    ("reported", "stored"),
    [
        ("a\0b", "ab"),
        ("\ud83d half", " half"),
        ("\N{GRINNING FACE} whole", "\N{GRINNING FACE} whole"),
        (float("nan"), None),
        (float("-inf"), None),
        (0.5, 0.5),
        (True, True),
        (None, None),
        ({"k\0": ["\0", {"n": float("inf")}]}, {"k": ["", {"n": None}]}),
        (("a\0", 1), ["a", 1]),
        (MappingProxyType({"a": "\0"}), {"a": ""}),
    ],
)
def test_what_postgresql_refuses_is_left_out_and_the_rest_stays(reported: Any, stored: Any) -> None:
    assert storable(reported) == stored


@pytest.mark.parametrize(
    ("reported", "found"),
    [
        ("whole \N{GRINNING FACE}", None),
        ({"a": ["b", {"c": 1.5}], "d": None}, None),
        ("a\0b", r"a\x00b"),
        ({"a": [{"b": "half \ud83d"}]}, r"half \ud83d"),
        ({"key\0": 1}, r"key\x00"),
        (os.fsdecode(b"notes-\xff.txt"), r"notes-\xff.txt"),
    ],
)
def test_what_postgresql_refuses_is_found_and_spelled_out(reported: Any, found: str | None) -> None:
    assert unstorable_text(reported) == found


def test_what_json_spells_with_escapes_is_cleaned_once_it_is_read() -> None:
    reported = json.loads(r'{"sentence": "broke at \u0000 and \ud800", "loss": NaN}')
    assert storable(reported) == {"sentence": "broke at  and ", "loss": None}
