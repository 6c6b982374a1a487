"""Outlines of conversations beside their tokens: what drafting by each says a step would bring.

An outline numbers pieces of text where a model has tokens, so that a tuning on a team's own traffic
counts what is near the truth. The reference is the same rule over the tokens themselves, on the
texts of `benchmarks/lookahead.py`; the engine's count of tokens, which an outline is cut by, is the
tokenizer's here. `--full` takes 60 files, else 12.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tokenizers import Tokenizer  # noqa: E402

from benchmarks import report  # noqa: E402
from benchmarks.checkpoints import smollm2  # noqa: E402
from benchmarks.lookahead_parts import simulation  # noqa: E402
from benchmarks.lookahead_parts.texts import TASKS, Job, Texts, Tokens  # noqa: E402
from workers.gateway.traffic_samples.outlines import outlined  # noqa: E402
from workers.gateway.traffic_samples.prompt_and_answer import PromptAndAnswer  # noqa: E402
from workers.gateway.traffic_samples.sample_form import pack  # noqa: E402
from workers.lookahead.rules import DraftRule  # noqa: E402

RULES = {
    "documented_at_32": DraftRule.documented(32),
    "ours_at_64": DraftRule.own(64),
    "filled_63": DraftRule.filling(63),
}
BARS = {
    "least_by_outlines_to_by_tokens": report.at_least(0.92),
    "most_by_outlines_to_by_tokens": report.at_most(1.08),
}


class Both(Texts):
    """Makes jobs of tokens, and keeps the texts that they are of."""

    said: list[PromptAndAnswer]

    def _job(self, shown: str, answered: str) -> Job:
        self.said.append(PromptAndAnswer(f"{shown}\n\nGive back the whole text.\n\n", answered))
        return super()._job(shown, answered)


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = report.parser(__doc__, full="60 files").parse_args()
    figures = report.Report(as_json=options.json)
    tokenizer = Tokenizer.from_file(str(smollm2() / "tokenizer.json"))
    texts = Both(tokenizer, files=60 if options.full else 12)
    by_task = {task: _compared(texts, make) for task, make in TASKS.items()}
    ratios = [each["ratio"] for task in by_task.values() for each in task["rules"].values()]
    judged = {
        "least_by_outlines_to_by_tokens": min(ratios),
        "most_by_outlines_to_by_tokens": max(ratios),
    }
    return figures.end({**judged, **by_task}, BARS)


def _compared(texts: Both, make: Any) -> dict[str, Any]:
    texts.said = []
    jobs = make(texts)
    outlines = [_outlined(statement, job) for statement, job in zip(texts.said, jobs, strict=True)]
    packed = sum(len(pack(outlined(statement))) for statement in texts.said)
    return {
        "rules": {name: _ratio(rule, jobs, outlines) for name, rule in RULES.items()},
        "packed_bytes_per_token": round(packed / _length(jobs), 3),
        "pieces_per_token": round(_length(outlines) / _length(jobs), 3),
    }


def _outlined(said: PromptAndAnswer, job: Job) -> Job:
    outline = outlined(said, len(job.prompt) + len(job.answer))
    return Job(_numbers(outline.prompt), _numbers(outline.answer))


def _numbers(numbers: Sequence[int]) -> Tokens:
    return np.asarray(numbers, dtype=np.int32)


def _ratio(rule: DraftRule, jobs: list[Job], outlines: list[Job]) -> dict[str, float]:
    by_tokens, by_outlines = (
        simulation.tokens_per_step(simulation.by_rule(rule), each)[0] for each in (jobs, outlines)
    )
    return {
        "tokens_per_step_by_tokens": round(by_tokens, 3),
        "tokens_per_step_by_outlines": round(by_outlines, 3),
        "ratio": round(by_outlines / by_tokens, 4),
    }


def _length(jobs: list[Job]) -> int:
    return sum(len(each.prompt) + len(each.answer) for each in jobs)


if __name__ == "__main__":
    sys.exit(main())
