"""Code that works when pasted, once the key is in the environment."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from apps.deployments.addresses import (
    CHAT_ROUTE,
    CLASSIFY_ROUTE,
    LABEL_ROUTE,
    RERANK_ROUTE,
    Address,
)
from apps.deployments.selectors import served_model_name
from controlplane.domain.facts.encoder_routes import EMBEDDINGS_ROUTE

KEY = "ENGINEHOUSE_API_KEY"
BODY = "@@BODY@@"
"""Stands in a template where the request is written down in the words of its language."""

_BODIES: Mapping[str, Mapping[str, Any]] = {
    CHAT_ROUTE: {
        "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 64, "temperature": 0,
    },
    EMBEDDINGS_ROUTE: {"input": ["A cat sleeps.", "The cat is asleep."]},
    RERANK_ROUTE: {"query": "capital of France", "texts": ["Paris is the capital.", "Bananas."]},
    CLASSIFY_ROUTE: {"inputs": [["I love this."], ["I do not."]]},
    LABEL_ROUTE: {"inputs": [["Ada was born in London."]], "aggregation_strategy": "simple"},
}  # fmt: skip
"""What is asked at each route."""

_ANSWERS_IN_PYTHON: Mapping[str, str] = {
    CHAT_ROUTE: """\
for chunk in client.chat.completions.create(**request):
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
""",
    EMBEDDINGS_ROUTE: """\
answer = client.embeddings.create(**request)
print(len(answer.data), "vectors of", len(answer.data[0].embedding), "numbers")
""",
}
"""What the OpenAI client does with the answer."""

_ANSWER_IN_JAVASCRIPT: Mapping[str, str] = {
    CHAT_ROUTE: """\
let rest = "";
for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + piece).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    if (!line.startsWith("data: {")) continue;
    const { choices } = JSON.parse(line.slice(6));
    process.stdout.write(choices[0]?.delta.content ?? "");
  }
}
""",
}
_PERFORMANCE: Mapping[str, str] = {
    EMBEDDINGS_ROUTE: """\
answer = client.embed(input=["A cat sleeps.", "The cat is asleep."], model={name})
print(answer.numpy().shape)
""",
    RERANK_ROUTE: """\
answer = client.rerank(
    query="capital of France", texts=["Paris is the capital.", "Bananas."]
)
print([(each.index, each.score) for each in answer.data])
""",
    CLASSIFY_ROUTE: """\
answer = client.classify(inputs=["I love this.", "I do not."])
print([[(each.label, each.score) for each in labels] for labels in answer.data])
""",
}


def snippets_of(address: Address) -> dict[str, str]:
    body = {"model": served_model_name(address.deployment), **_BODIES[address.route]}
    streamed = body | ({"stream": True} if address.route == CHAT_ROUTE else {})
    templates = code_templates(address)
    return {
        "curl": templates["curl"].replace(BODY, _shell(body)),
        "python": templates["python"].replace(BODY, _python(streamed)),
        "javascript": templates["javascript"].replace(BODY, _javascript(streamed)),
        "performance": _performance(address, body),
    }


def code_templates(address: Address) -> dict[str, str]:
    """Return the code of a call in each language, with `BODY` where the request belongs."""
    url = f"{address.root}{address.route}"
    writes: Mapping[str, Callable[[Address, str], str]] = {
        "curl": _curl_template,
        "python": _python_template,
        "javascript": _javascript_template,
    }
    return {language: write(address, url) for language, write in writes.items()}


def _curl_template(address: Address, url: str) -> str:
    return (
        f"curl {url} \\\n"
        f'  -H "Authorization: Bearer ${KEY}" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d '{BODY}'"
    )


def _python_template(address: Address, url: str) -> str:
    if address.route not in _ANSWERS_IN_PYTHON:
        return (
            "import json\nimport os\nfrom urllib.request import Request, urlopen\n\n"
            f"request = {BODY}\n"
            "call = Request(\n"
            f'    "{url}",\n'
            "    data=json.dumps(request).encode(),\n"
            "    headers={\n"
            f'        "Authorization": f"Bearer {{os.environ[\'{KEY}\']}}",\n'
            '        "Content-Type": "application/json",\n'
            "    },\n"
            ")\n"
            "with urlopen(call) as answer:\n"
            "    print(json.load(answer))\n"
        )
    return (
        "import os\n\nfrom openai import OpenAI\n\n"
        "client = OpenAI(\n"
        f'    base_url="{address.root}/v1",\n'
        f'    api_key=os.environ["{KEY}"],\n'
        ")\n"
        f"request = {BODY}\n"
        f"{_ANSWERS_IN_PYTHON[address.route]}"
    )


def _javascript_template(address: Address, url: str) -> str:
    prints = "console.log(JSON.stringify(await answer.json()));\n"
    return (
        f'const answer = await fetch("{url}", {{\n'
        '  method: "POST",\n'
        "  headers: {\n"
        f"    Authorization: `Bearer ${{process.env.{KEY}}}`,\n"
        '    "Content-Type": "application/json",\n'
        "  },\n"
        f"  body: JSON.stringify({BODY}),\n"
        "});\n"
        "if (!answer.ok) throw new Error(await answer.text());\n"
        f"{_ANSWER_IN_JAVASCRIPT.get(address.route, prints)}"
    )


def _performance(address: Address, body: Mapping[str, Any]) -> str:
    asks = (
        _PERFORMANCE[address.route].replace("{name}", json.dumps(body["model"]))
        if address.route in _PERFORMANCE
        else f"request = {_python(body)}\n"
        f'answer = client.batch_post("{address.route}", [request])\n'
        "print(answer.data[0])\n"
    )
    return (
        "import os\n\nfrom baseten_performance_client import PerformanceClient\n\n"
        "client = PerformanceClient(\n"
        f'    base_url="{address.root}",\n'
        f'    api_key=os.environ["{KEY}"],\n'
        ")\n"
        f"{asks}"
    )


def _shell(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False).replace("'", "'\\''")


_OUTSIDE_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b')
_IN_PYTHON = {"true": "True", "false": "False", "null": "None"}


def _python(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, ensure_ascii=False, indent=4)
    return _OUTSIDE_TEXT.sub(lambda match: _IN_PYTHON.get(match[0], match[0]), text)


def _javascript(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, indent=2).replace("\n", "\n  ")
