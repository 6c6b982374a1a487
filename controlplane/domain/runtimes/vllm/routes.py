"""Which routes of vLLM clients may call, from a version on.

Not here, on purpose: `/invocations` and `/inference/v1/generate`, whose bodies and answers take
another route's form and pass unmetered; `/v1/responses/<id>`, under which a key could read or
cancel another one's; audio, which comes in forms; all that is for operators and trainers.
Source: `entrypoints/openai/api_server.py` and the names of the files beside it, read 2026-11-29.
"""

from controlplane.domain.wire.client_routes import table

ROUTES = {
    "0.25": table(
        reads=("/version", "/ping"),
        posts=(
            "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/tokenize",
            "/detokenize", "/pooling", "/classify", "/score", "/v1/score", "/v1/rerank",
            "/v2/rerank",
        ),
    )
}  # fmt: skip
