"""The stable JSON in `docs/checks.md` is the one that the checks give."""

import json
import re
from pathlib import Path
from typing import Any

from controlplane.domain.rules import Known, examine
from controlplane.domain.rules.examples import EVERY_KIND, QWEN2_7B

DOCUMENT = (Path(__file__).parents[2] / "docs" / "checks.md").read_text()
_SHOWN = re.search(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)
_SENT = re.search(r"-d '(\{\"text\".*?\})'\n", DOCUMENT)


def _shown() -> Any:
    assert _SHOWN is not None
    return json.loads(_SHOWN[1])


def _answer() -> Any:
    assert _SENT is not None
    known = Known(checkpoint=QWEN2_7B, secret_names=frozenset(), cards=EVERY_KIND)
    return examine(json.loads(_SENT[1])["text"], known).to_json()


def test_the_sent_config_gets_the_shown_finding_and_effective_value() -> None:
    shown, answer = _shown(), _answer()
    assert set(shown) == set(answer)
    (expected,) = shown["findings"]
    found = next(each for each in answer["findings"] if each["code"] == expected["code"])
    assert found["message"].startswith(expected.pop("message").rstrip("…"))
    assert {key: found[key] for key in expected} == expected
    assert shown["effective"][0] in answer["effective"]


def test_every_key_of_the_answer_is_described() -> None:
    answer = _answer()
    keys = {
        *answer,
        *answer["findings"][0],
        *answer["effective"][0],
        "model",
        "per_gpu",
        "capacity",
    }
    assert all(f"`{key}`" in DOCUMENT for key in keys)
