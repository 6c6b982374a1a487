"""The stable JSON in `docs/checks.md` and `docs/memory_plan.md` is what the checks give."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from controlplane.domain.rules import Known, examine
from controlplane.domain.rules.examples import EVERY_KIND, QWEN2_7B

DOCUMENT = (Path(__file__).parents[2] / "docs" / "checks.md").read_text()
PLAN_DOCUMENT = (Path(__file__).parents[2] / "docs" / "memory_plan.md").read_text()
PROMISED = {
    "answer": {"findings", "waiting", "effective", "plan", "blocks_build"},
    "finding": {"code", "name", "severity", "message", "fields", "line", "fix", "source"},
    "effective": {"field", "asked", "effective", "reason"},
    "model": {"architecture", "parameters", "weight_bytes", "kv_bytes_per_token"},
    "per_gpu": {
        "device_bytes", "weights_bytes", "kv_cache_bytes", "activations_bytes", "overhead_bytes",
        "free_bytes",
    },
    "capacity": {"kv_tokens", "full_length_requests", "binding"},
}  # fmt: skip
_SHOWN = re.search(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)
_SENT = re.search(r"-d '(\{\"text\".*?\})'\n", DOCUMENT)


def _shown() -> Any:
    assert _SHOWN is not None
    return json.loads(_SHOWN[1])


def _answer() -> Any:
    assert _SENT is not None
    known = Known(checkpoint=QWEN2_7B, secret_names=frozenset(), devices=EVERY_KIND)
    return examine(json.loads(_SENT[1])["text"], known).to_json()


def test_the_sent_config_gets_the_shown_finding_and_effective_value() -> None:
    shown, answer = _shown(), _answer()
    assert set(shown) == set(answer)
    (expected,) = shown["findings"]
    entry = next(each for each in answer["findings"] if each["code"] == expected["code"])
    assert entry["message"].startswith(expected.pop("message").rstrip("…"))
    assert {key: entry[key] for key in expected} == expected
    assert shown["effective"][0] in answer["effective"]


def test_every_key_of_the_answer_is_described() -> None:
    answer = _answer()
    waiting = examine(json.loads(_SENT[1])["text"], Known()).to_json()["waiting"] if _SENT else []
    assert waiting
    documents = DOCUMENT + PLAN_DOCUMENT
    keys = {*_keys(answer), *_keys(waiting)}
    assert {key for key in keys if f"`{key}`" not in documents} == set()


def test_no_key_that_the_first_release_promised_is_gone() -> None:
    answer = _answer()
    assert PROMISED["answer"] <= set(answer)
    assert all(PROMISED["finding"] <= set(each) for each in answer["findings"])
    assert all(PROMISED["effective"] <= set(each) for each in answer["effective"])
    for block in ("model", "per_gpu", "capacity"):
        assert PROMISED[block] <= set(answer["plan"][block])


def _keys(value: Any) -> Iterator[str]:
    """Yield every key at every depth; those of a patch are paths of the config."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in ("patch", "asked", "effective") or isinstance(inner, list):
                yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)
