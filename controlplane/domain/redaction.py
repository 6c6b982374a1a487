"""Secrets out of text before it is stored or shown: known values, and what looks like a secret."""

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

REPLACEMENT = "[redacted]"
_SHORTEST_KNOWN = 4
"""What is shorter is left alone: it would take half of every log along."""
_SHORTEST_PART = 8
"""What is shorter is a secret only where it stands as a word of its own."""
_SHORTEST_BEGINNING = 6
_LONGEST_WRAPPED = 512
_LINE_END = r"(?:\r?\n[ \t]*)?"
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
        self._forms = sorted(forms, key=len, reverse=True)
        self.longest_known = len(self._forms[0]) if self._forms else 0
        self._known = re.compile("|".join(map(_pattern, self._forms))) if forms else None

    def holds_known(self, text: str) -> bool:
        """Return whether one of the given values stands in the text, in any of its forms."""
        return self._known is not None and self._known.search(text) is not None

    def unfinished(self, text: str) -> int:
        """Return where in the text the beginning of a known value stands that its end may follow.

        Where none does, that is the end of the text.
        """
        seen = text.rstrip("\r\n")
        begun = (
            length
            for form in self._forms
            for length in range(min(len(form) - 1, len(seen), _LONGEST_WRAPPED), 0, -1)
            if length >= _SHORTEST_BEGINNING and seen.endswith(form[:length])
        )
        longest = max(begun, default=0)
        return len(seen) - longest if longest else len(text)

    def text(self, text: str) -> str:
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


def _pattern(form: str) -> str:
    """Return what finds a form: a short one as a word of its own, a long one across a line's end.

    A short value is part of other words too often: all of them would go.
    """
    if len(form) < _SHORTEST_PART:
        return rf"(?<!\w){re.escape(form)}(?!\w)"
    if len(form) > _LONGEST_WRAPPED:
        return re.escape(form)
    return _LINE_END.join(map(re.escape, form))


def _forms(value: str) -> Iterable[str]:
    """Return the value as itself, by line, and as URLs, JSON and base64 carry it."""
    plain = value.strip()
    if len(plain) < _SHORTEST_KNOWN:
        return
    yield plain
    yield from (quote(plain, safe=""), quote(plain), quote_plus(plain))
    yield json.dumps(plain)[1:-1]
    yield from _in_base64(plain)
    lines = plain.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= _SHORTEST_LINE)
    for part in _secret_fields(plain):
        yield from _forms(part)


def _in_base64(plain: str) -> Iterable[str]:
    """Return what stands in base64 for the value, whatever stands before and after it.

    Three bytes are four letters: by how many stand before, the value looks one of three ways. Its
    first and last letter may hold bits of a neighbour and are left out.
    """
    data = plain.encode()
    if len(data) >= _SHORTEST_PART:
        for before in range(3):
            text = base64.b64encode(b"\0" * before + data).decode()
            start = (before * 8 + 5) // 6
            end = (before + len(data)) * 8 // 6
            yield from _spelled(text[start:end])
    yield from _spelled(base64.b64encode(data).decode().rstrip("="))


def _spelled(text: str) -> Iterable[str]:
    """Return base64 in its two alphabets, and as a URL carries the first."""
    return text, text.replace("+", "-").replace("/", "_"), quote(text, safe="")


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
