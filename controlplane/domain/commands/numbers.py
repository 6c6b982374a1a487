"""Numbers as command lines write them."""

import json
import math
import re
from typing import Any

from controlplane.domain.commands.words import Word

_COUNT = re.compile(r"(\d{1,15})(\.\d{1,6})?([kKmMgG]?)", re.ASCII)
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30}


def clean(word: Word) -> str:
    """Return the value without blanks and the pairs of quotes that templates left around it."""
    text = word.text.strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1].strip()
    return text


def whole_number(text: str) -> int | None:
    """Return `8192`, `32k` (32,000) or `32K` (32,768) as a number, or None.

    Source: vLLM `human_readable_int`: small letters are decimal, capitals binary.
    """
    match = _COUNT.fullmatch(text)
    if match is None:
        return None
    whole, part, unit = match[1], match[2] or "", match[3]
    if part and unit not in ("k", "m", "g"):
        return None
    factor = _BINARY.get(unit) or _DECIMAL[unit]
    return round(float(whole + part) * factor) if part else int(whole) * factor


def fraction(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def json_value(text: str) -> Any:
    """Return the JSON in the text, or None where there is none or it cannot be stored."""
    try:
        value = json.loads(text, parse_constant=lambda _: None)
        plain = json.dumps(value, ensure_ascii=False)
        plain.encode()
    except (ValueError, RecursionError):
        return None
    return None if "\\u0000" in plain else value
