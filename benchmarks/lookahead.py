"""The drafter: tokens a step yields beside other rules, and what a history of many tokens costs.

Answers are known beforehand, so that a step's yield is counted and no model runs. The reference of
the first bars is the documented rule (k tokens for a match of k) at the same or at its documented
cap, run on the same texts; of the others, a suffix tree over the same tokens (Arctic Inference,
where it is installed). `--full` takes 10 million tokens and 60 files, else one million and 12.
"""

import importlib
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tokenizers import Tokenizer  # noqa: E402

from benchmarks import report  # noqa: E402
from benchmarks.checkpoints import smollm2  # noqa: E402
from benchmarks.lookahead_parts import engine, history_speed, simulation  # noqa: E402
from benchmarks.lookahead_parts.texts import TASKS, Job, Texts  # noqa: E402
from workers.lookahead.rules import DraftRule  # noqa: E402

DOCUMENTED_CAP = 32
BARS = {
    "ours_at_64_to_documented_at_64": report.at_least(1.10),
    "ours_at_128_to_documented_at_128": report.at_least(1.15),
    "ours_at_128_to_documented_at_32": report.at_least(1.8),
    "native_copying_plain_to_drafted": report.at_least(1.5),
    "native_unlike_plain_to_drafted": report.at_least(0.97),
    "bytes_per_token_at_10_million": report.at_most(16),
    "insert_microseconds_or_ratio_to_tree": report.at_most(1),
    "step_p50_microseconds_or_ratio_to_tree": report.at_most(1),
    "step_p99_microseconds_or_ratio_to_tree": report.at_most(1),
}
TARGETS = {
    "insert_microseconds_per_token": 0.3,
    "step_p50_microseconds": 5.0,
    "step_p99_microseconds": 20.0,
}
OF_THE_TREE = 0.1
"""A slow machine may take longer than the target, up to this share of the tree's time."""


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    parser = report.parser(__doc__, full="10 million tokens, 60 files")
    parser.add_argument("--tokenizer", help="its file; then what a history costs, and nothing else")
    options = parser.parse_args()
    told = report.Report(as_json=options.json)
    if options.tokenizer:
        return _history_alone(told, options.tokenizer, full=options.full)
    tokenizer = Tokenizer.from_file(str(smollm2() / "tokenizer.json"))
    yields = _yields(Texts(tokenizer, files=60 if options.full else 12))
    speed = _speed(tokenizer, 10_000_000 if options.full else 1_000_000)
    native = engine.figures(smollm2())
    judged = {**_ratios(yields["code_apply_1_percent"]), **_native(native), **_judged(speed)}
    return told.end({**judged, **yields, **speed, "native_engine": native}, BARS)


def _history_alone(told: report.Report, tokenizer: str, *, full: bool) -> int:
    speed = _speed(Tokenizer.from_file(tokenizer), 10_000_000 if full else 1_000_000)
    judged = _judged(speed)
    return told.end({**judged, **speed}, {name: BARS[name] for name in judged})


def _yields(texts: Texts) -> dict[str, dict[str, float]]:
    sides = {
        "documented_at_32": simulation.by_rule(DraftRule.documented(32)),
        "documented_at_64": simulation.by_rule(DraftRule.documented(64)),
        "documented_at_128": simulation.by_rule(DraftRule.documented(128)),
        "ours_at_32": simulation.by_rule(DraftRule.own(32)),
        "ours_at_64": simulation.by_rule(DraftRule.own(64)),
        "ours_at_128": simulation.by_rule(DraftRule.own(128)),
        "vllm_ngram_5_of_5": simulation.scan(5, 5, 5),
        "vllm_ngram_2_to_5_of_32": simulation.scan(2, 5, 32),
    }
    return {task: _of(make(texts), sides) for task, make in TASKS.items()}


def _of(jobs: list[Job], sides: dict[str, Any]) -> dict[str, float]:
    return {
        name: round(simulation.tokens_per_step(side, jobs)[0], 3) for name, side in sides.items()
    }


def _ratios(yields: dict[str, float]) -> dict[str, float]:
    return {
        "ours_at_64_to_documented_at_64": yields["ours_at_64"] / yields["documented_at_64"],
        "ours_at_128_to_documented_at_128": yields["ours_at_128"] / yields["documented_at_128"],
        "ours_at_128_to_documented_at_32": yields["ours_at_128"] / yields["documented_at_32"],
    }


def _native(figures: dict[str, Any]) -> dict[str, float]:
    """Return the ratios; nothing at all where the texts differ, which is a fault and no speed."""
    return {
        f"native_{name}_plain_to_drafted": each["plain_to_drafted_cpu_seconds"]
        if each["is_the_same_text"]
        else 0
        for name, each in figures.items()
    }


def _speed(tokenizer: Tokenizer, tokens: int) -> dict[str, dict[str, float] | None]:
    texts = history_speed.documents(tokenizer, tokens * 11 // 10)
    known, unseen = _split(texts, tokens)
    tree = _tree()
    return {
        "history": history_speed.ours(known, unseen, tokens),
        "tree": history_speed.arctics(tree, known, unseen) if tree else None,
    }


def _split(texts: list[Any], tokens: int) -> tuple[list[Any], list[Any]]:
    total = 0
    for place, text in enumerate(texts):
        total += len(text) + 1
        if total > tokens:
            return texts[:place], texts[place:]
    return texts, texts


def _tree() -> Any:
    try:
        return importlib.import_module("arctic_inference.suffix_decoding._C").SuffixTree(
            history_speed.TREE_DEPTH
        )
    except ImportError:
        return None


def _judged(speed: dict[str, Any]) -> dict[str, float]:
    """Return each cost as a share of its target, or of the tree's share where that is more."""
    judged = {"bytes_per_token_at_10_million": history_speed.bytes_per_token(10_000_000)}
    for name, target in TARGETS.items():
        of_the_tree = OF_THE_TREE * speed["tree"][name] if speed["tree"] else 0
        judged[f"{name.removesuffix('_per_token')}_or_ratio_to_tree"] = speed["history"][
            name
        ] / max(target, of_the_tree)
    return judged


if __name__ == "__main__":
    sys.exit(main())
