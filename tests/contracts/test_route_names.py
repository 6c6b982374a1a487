"""A name of a route means one address: of two, a link would lead to the one that came last."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver


def routes(patterns: Any, before: str = "", within: str = "") -> Iterator[tuple[str, str]]:
    """Return each named route with its address."""
    for each in patterns:
        path = before + str(each.pattern)
        if isinstance(each, URLResolver):
            inner = f"{within}{each.namespace}:" if each.namespace else within
            yield from routes(each.url_patterns, path, inner)
        elif isinstance(each, URLPattern) and each.name:
            yield f"{within}{each.name}", path


def test_no_two_addresses_have_one_name() -> None:
    seen: dict[str, str] = {}
    twice = [
        (name, path, seen[name])
        for name, path in routes(get_resolver().url_patterns)
        if seen.setdefault(name, path) != path
    ]
    assert twice == []
