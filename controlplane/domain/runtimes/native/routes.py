"""Which routes of the native engine clients may call, by version.

`/v1/responses` among them: the gateway asks it as a chat.
"""

from controlplane.domain.runtimes.native.capabilities import VERSION
from controlplane.domain.wire.client_routes import table

ROUTES = {
    VERSION: table(
        reads=("/info",),
        posts=("/", "/v1/responses", "/embed", "/embed_sparse", "/v1/rerank", "/v2/rerank"),
    )
}
