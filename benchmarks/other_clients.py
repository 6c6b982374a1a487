"""Clients of others, unmodified, at encoders of the native engine behind a gateway.

    python benchmarks/other_clients.py [--json]

LangChain's `OpenAIEmbeddings` and LiteLLM's `rerank`, by two of its providers. What they read is
compared with what the endpoint answers to plain HTTP. Both packages (`langchain-openai`, `litellm`)
have to be there; without them it exits 3.
"""

import importlib
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)
os.environ |= {"HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

from benchmarks import report  # noqa: E402  (found through the line above)
from benchmarks.encoders_parts.servers import Server, behind_gateway, native  # noqa: E402

TEXTS = ("The sky is blue.", "Bread is made of flour.", "", "Grüße aus Köln, 你好世界 🙂")
QUERY = "What is bread made of?"
PROVIDERS = ("hosted_vllm", "cohere")
"""`jina_ai` drops the path of an address, and `cohere` wants the route in it."""
BARS = {
    "langchain_largest_difference": report.at_most(1e-6),
    **{f"litellm_{each}_largest_difference": report.at_most(1e-6) for each in PROVIDERS},
}


def main() -> int:
    """Return the exit status: 0 where each client reads what the endpoint says."""
    options = report.parser(__doc__, full="the same").parse_args()
    kept = report.Report(as_json=options.json)
    if missing := [each for each in ("langchain_openai", "litellm") if find_spec(each) is None]:
        print(f"Not installed: {', '.join(missing)}.", file=sys.stderr)
        return report.NO_HARDWARE
    from tests.workers.engine.pooling.minilm import make_reranker, minilm

    figures: dict[str, Any] = {each: version(each) for each in ("langchain-openai", "litellm")}
    with native(minilm(), device="cpu") as engine, behind_gateway(engine) as server:
        figures["langchain_largest_difference"] = _langchain(server)
    with tempfile.TemporaryDirectory() as folder:
        reranker = make_reranker(Path(folder) / "reranker")
        with native(reranker, device="cpu") as engine, behind_gateway(engine) as server:
            for each in PROVIDERS:
                figures[f"litellm_{each}_largest_difference"] = _litellm(server, each)
    return kept.end(figures, BARS)


def _langchain(server: Server) -> float:
    client = importlib.import_module("langchain_openai").OpenAIEmbeddings(
        base_url=f"{server.url}/v1", api_key=server.key, model="served",
        check_embedding_ctx_length=False,  # else it sends tokens of OpenAI's vocabulary
    )  # fmt: skip
    texts = [each for each in TEXTS if each]
    vectors = [*client.embed_documents(texts), client.embed_query(QUERY)]
    answer = _posted(server, "/v1/embeddings", {"model": "served", "input": [*texts, QUERY]})
    return max(
        _difference(each, row["embedding"])
        for each, row in zip(vectors, answer["data"], strict=True)
    )


def _litellm(server: Server, provider: str) -> float:
    texts = [each for each in TEXTS if each]
    base = f"{server.url}/v1/rerank" if provider != "hosted_vllm" else server.url
    answer = importlib.import_module("litellm").rerank(
        model=f"{provider}/served", api_base=base, api_key=server.key, query=QUERY,
        documents=texts, top_n=2, return_documents=True,
    )  # fmt: skip
    wanted = _posted(
        server, "/v1/rerank",
        {"model": "served", "query": QUERY, "documents": texts, "top_n": 2},
    )["results"]  # fmt: skip
    assert [each["index"] for each in answer.results] == [each["index"] for each in wanted]
    return _difference(
        [each["relevance_score"] for each in answer.results],
        [each["relevance_score"] for each in wanted],
    )


def _posted(server: Server, path: str, body: dict[str, Any]) -> Any:
    answer = httpx.post(
        server.url + path, json=body, headers={"authorization": f"Bearer {server.key}"},
        trust_env=False, timeout=60,
    )  # fmt: skip
    return answer.raise_for_status().json()


def _difference(one: Sequence[float], other: Sequence[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


if __name__ == "__main__":
    sys.exit(main())
