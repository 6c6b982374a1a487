"""What a table of the routes that clients may call is made of.

Only what is listed passes: an engine has routes that change its weights, its memory or its caches,
or that drain counters, and none of them asks who calls.
"""

from collections.abc import Mapping
from types import MappingProxyType

Routes = Mapping[str, frozenset[str]]
"""An engine's own path, as it reads it -> the methods that clients may use."""

READ = frozenset({"GET", "HEAD"})
POST = frozenset({"POST"})
ANY = READ | POST | {"PUT", "PATCH", "DELETE"}
"""For routes that a config opens by name."""

HOSTED: Routes = MappingProxyType(
    {
        "/health": READ,
        "/metrics": READ,
        "/v1/models": READ,
        **dict.fromkeys(
            ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/rerank", "/predict",
             "/predict_tokens"), POST),
    }
)  # fmt: skip
"""What clients of the hosted product call under `sync/`: open on every runtime."""


def table(*, reads: tuple[str, ...] = (), posts: tuple[str, ...] = ()) -> Routes:
    return MappingProxyType({**HOSTED, **dict.fromkeys(reads, READ), **dict.fromkeys(posts, POST)})
