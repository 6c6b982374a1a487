"""Code that works when pasted, once the key is in the environment."""

import json
from collections.abc import Mapping
from typing import Any

from apps.deployments.models import Deployment
from apps.deployments.presentation import endpoint_of
from apps.deployments.selectors import predict_route, served_model_name

KEY_PLACEHOLDER = "$ENGINEHOUSE_API_KEY"

_EMBEDDINGS = "/v1/embeddings"
_BODIES: Mapping[str, Mapping[str, Any]] = {
    _EMBEDDINGS: {"input": ["A cat sleeps.", "The cat is asleep."]},
    "/rerank": {"query": "capital of France", "texts": ["Paris is the capital.", "Bananas."]},
    "/predict": {"inputs": [["I love this."], ["I do not."]]},
    "/predict_tokens": {"inputs": [["Ada was born in London."]], "aggregation_strategy": "simple"},
}
"""What an encoder is asked at each of its routes."""

_CHAT: Mapping[str, Any] = {
    "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 64, "temperature": 0,
}  # fmt: skip
_ASK: Mapping[str, str] = {
    _EMBEDDINGS: """answer = client.embed(input=["A cat sleeps."], model="{name}")
print(answer.numpy().shape)
""",
    "/rerank": """answer = client.rerank(
    query="capital of France", texts=["Paris is the capital.", "Bananas."]
)
print([(each.index, each.score) for each in answer.data])
""",
    "/predict": """answer = client.classify(inputs=["I love this.", "I do not."])
print([[(each.label, each.score) for each in labels] for labels in answer.data])
""",
    "/predict_tokens": """texts = [["Ada was born in London."]]
answer = client.batch_post(
    "/predict_tokens", [{{"inputs": texts, "aggregation_strategy": "simple"}}]
)
print(answer.data)
""",
}


def snippets_of(deployment: Deployment) -> dict[str, str]:
    """Return a call of the deployment for each language that the page shows."""
    name, base, route = served_model_name(deployment), endpoint_of(deployment), _route(deployment)
    if route not in _BODIES:
        body = {"model": name, **_CHAT}
        return {"curl": _curl(f"{base}/chat/completions", body), "python": _chat(base, name)}
    root = base.removesuffix("/v1")
    return {
        "curl": _curl(f"{root}{route}", {"model": name, **_BODIES[route]}),
        "python": _performance_client(root) + _ASK[route].format(name=name),
    }


def _route(deployment: Deployment) -> str:
    """The deployment's own, but for a classifier with one label, which ranks."""
    route = predict_route(deployment)
    ranks = route == "/predict" and (deployment.checkpoint or {}).get("labels") == 1
    return "/rerank" if ranks else route


def _curl(url: str, body: Mapping[str, Any]) -> str:
    return (
        f"curl {url} \\\n"
        f'  -H "Authorization: Bearer {KEY_PLACEHOLDER}" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d '{json.dumps(body, ensure_ascii=False)}'"
    )


def _chat(base: str, name: str) -> str:
    return (
        "import os\n\nfrom openai import OpenAI\n\n"
        "client = OpenAI(\n"
        f'    base_url="{base}",\n'
        '    api_key=os.environ["ENGINEHOUSE_API_KEY"],\n'
        ")\n"
        "answer = client.chat.completions.create(\n"
        f'    model="{name}",\n'
        '    messages=[{"role": "user", "content": "Say hello."}],\n'
        "    max_tokens=64,\n"
        "    temperature=0,\n"
        "    stream=True,\n"
        ")\n"
        "for chunk in answer:\n"
        "    if chunk.choices:\n"
        '        print(chunk.choices[0].delta.content or "", end="", flush=True)\n'
    )


def _performance_client(root: str) -> str:
    return (
        "import os\n\nfrom baseten_performance_client import PerformanceClient\n\n"
        "client = PerformanceClient(\n"
        f'    base_url="{root}",\n'
        '    api_key=os.environ["ENGINEHOUSE_API_KEY"],\n'
        ")\n"
    )
