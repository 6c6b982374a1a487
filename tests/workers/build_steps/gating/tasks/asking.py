"""Tasks of rows that a test writes."""

import json
from pathlib import Path
from typing import Any

WORDS = ("ferry", "harbour", "winter", "garden", "letter", "window", "market", "bridge")
CHOOSE = {
    "output_type": "multiple_choice",
    "doc_to_text": "{{prompt}}",
    "doc_to_choice": "choices",
    "doc_to_target": "answer",
}
WRITE = {
    "output_type": "generate_until",
    "doc_to_text": "{{prompt}}",
    "doc_to_target": "{{choices[answer]}}",
    "num_fewshot": 1,
    "generation_kwargs": {"max_gen_toks": 8},
    "metric_list": [{"metric": "exact_match", "ignore_case": True}],
    "filter_list": [{"name": "trimmed", "filter": [
        {"function": "remove_whitespace"}, {"function": "take_first"}]}],
}  # fmt: skip


def write_rows(path: Path, count: int = 16) -> Path:
    rows = (
        {
            "prompt": f"After the {WORDS[number % 8]} number {number} comes the",
            "choices": [WORDS[(number + step) % 8] for step in (1, 3, 5)],
            "answer": number % 3,
        }
        for number in range(count)
    )
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


def own(path: Path, definition: dict[str, Any] = CHOOSE, **more: Any) -> dict[str, Any]:
    return {"dataset": str(path), "definition": definition, "max_loss": 1.0, **more}
