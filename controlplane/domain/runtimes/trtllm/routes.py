"""Which routes of TensorRT-LLM clients may call, from a version on.

Not here, on purpose: `/v1/responses/<id>`, under which a key could read or delete another one's;
`/health_generate`, which computes for nobody; all that is for trainers and for its own parts.
Source: `serve/openai_server.py`, read 2026-11-29.
"""

from controlplane.domain.wire.client_routes import table

ROUTES = {"1.2": table(reads=("/version",), posts=("/v1/responses",))}
