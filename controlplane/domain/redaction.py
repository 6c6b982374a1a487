"""Secrets out of text before it is stored or shown: known values, and what looks like a secret."""

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

REPLACEMENT = "[redacted]"
_SHORTEST_KNOWN = 4
_SHORTEST_LINE = 8
"""Single lines of a secret of several lines are told apart from chance from this length on."""

_SECRET_FIELD = re.compile(r"key|secret|token|password", re.I)
"""Names of the fields of a JSON secret that are secret by themselves; a region is not."""

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.S), ""),
    (re.compile(r"\b(Bearer|Api-Key|Basic)\s+[^\s\"',]{8,}", re.I), r"\1 "),
    (re.compile(r"\b(hf_|api_org_|ghp_|gho_|github_pat_|sk-|xox[a-z]-)[\w-]{16,}"), r"\1"),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), ""),
    # Our own API keys: prefix, dot, 256 random bits.
    (re.compile(r"\b([a-z0-9]{8}\.)[\w-]{40,}"), r"\1"),
    (re.compile(r"\b([a-z][a-z0-9+]{1,20}://[^\s/@:]*:)[^\s/@]+(?=@)", re.I), r"\1"),
    (
        re.compile(r"([?&](?:[\w-]*signature|sig|[\w-]*token|[\w-]*credential)=)[^\s&\"']+", re.I),
        r"\1",
    ),
    (
        re.compile(
            r"(?<![\w-])((?:[\w-]*(?:password|passwd|secret|api[_-]?key|access[_-]?key)"
            r"|(?:(?:access|auth|hf|api|refresh|bearer)[_-])?token)"
            r"[\"']?\s*[=:]\s*[\"']?)[^\s\"',;}<]{8,}",
            re.I,
        ),
        r"\1",
    ),
)


class Redactor:
    """Takes out the given values, in the forms they travel in, and whatever looks like a secret."""

    def __init__(self, known_values: Iterable[str] = ()) -> None:
        forms = {form for value in known_values for form in _forms(value)}
        # Longest first, or a value that begins like another leaves its end behind.
        ordered = sorted(forms, key=len, reverse=True)
        self.longest_known = len(ordered[0]) if ordered else 0
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        if self._known is not None:
            text = self._known.sub(REPLACEMENT, text)
        for pattern, kept in _PATTERNS:
            text = pattern.sub(kept + REPLACEMENT, text)
        return text

    def data(self, value: Any) -> Any:
        """Return JSON-like data with every text in it, keys apart, without secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.data(each) for key, each in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, bytes):
            return [self.data(each) for each in value]
        return value


def _forms(value: str) -> Iterable[str]:
    """Return the value as itself, by line, and as URLs, JSON and base64 carry it."""
    plain = value.strip()
    if len(plain) < _SHORTEST_KNOWN:
        return
    yield plain
    yield quote(plain, safe="")
    yield json.dumps(plain)[1:-1]
    yield base64.b64encode(plain.encode()).decode().rstrip("=")
    lines = plain.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= _SHORTEST_LINE)
    for part in _secret_fields(plain):
        yield from _forms(part)


def _secret_fields(value: str) -> Iterable[str]:
    """Return the fields of a JSON secret that must not be seen apart from it either."""
    try:
        fields = json.loads(value) if value.startswith("{") else None
    except ValueError:
        fields = None
    if isinstance(fields, dict):
        for name, field in fields.items():
            if isinstance(field, str) and _SECRET_FIELD.search(name):
                yield field
