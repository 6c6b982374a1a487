"""One task of lm-eval through an endpoint of the native engine, beside lm-eval's own Transformers.

`local-completions` asks `/v1/completions` with `echo` and `logprobs`; `hf` loads the same folder in
the same data type. Both must come to the same choices and, in float32, to the same log likelihoods.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

from benchmarks import report  # noqa: E402
from benchmarks.checkpoints import smollm2  # noqa: E402
from benchmarks.engine_cpu_parts.sides import Ours  # noqa: E402

TASKS = Path(__file__).with_name("harness_parts")
TASK = "common_knowledge"
METRICS = ("acc", "acc_norm")
BARS = {
    "largest_log_likelihood_difference": report.at_most(1e-3),
    "different_choices": report.at_most(0),
    "different_greedy_answers": report.at_most(0),
}


def main() -> int:
    """Measure, print and give back the exit status."""
    figures = report.Report(as_json=report.parser(__doc__, full="the same").parse_args().json)
    if find_spec("lm_eval") is None:
        print("lm-eval is in the extra `bench`, which is not installed.", file=sys.stderr)
        return report.NO_HARDWARE
    folder = smollm2()
    engine = Ours(folder, 1, "float32")
    try:
        ours = evaluate("local-completions", {
            "base_url": f"http://127.0.0.1:{engine.port}/v1/completions",
            "model": "SmolLM2", "tokenizer": str(folder), "num_concurrent": 4,
        })  # fmt: skip
    finally:
        engine.stop()
    theirs = evaluate("hf", {"pretrained": str(folder), "dtype": "float32", "device": "cpu"})
    return figures.end(compare(ours, theirs), BARS)


def evaluate(model: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what lm-eval found, each sample with its answers."""
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    os.chdir(TASKS)  # the task names its file from here
    manager = TaskManager(include_path=str(TASKS), include_defaults=False)
    outcome: Mapping[str, Any] = simple_evaluate(
        model=model, model_args=dict(arguments), tasks=[TASK], task_manager=manager,
        log_samples=True, verbosity="ERROR", bootstrap_iters=0,
    )  # fmt: skip
    return outcome


def compare(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Return every figure by name, ours beside theirs."""
    pairs = list(zip(_answers(ours), _answers(theirs), strict=True))
    figures: dict[str, Any] = {
        "questions": len(ours["samples"][TASK]),
        "log_likelihoods": len(pairs),
        "largest_log_likelihood_difference": max(abs(our[0] - their[0]) for our, their in pairs),
        "different_greedy_answers": sum(our[1] != their[1] for our, their in pairs),
        "different_choices": sum(
            _choice(our) != _choice(their)
            for our, their in zip(ours["samples"][TASK], theirs["samples"][TASK], strict=True)
        ),
    }
    for metric in METRICS:
        figures[metric] = ours["results"][TASK][f"{metric},none"]
        figures[f"{metric}_transformers"] = theirs["results"][TASK][f"{metric},none"]
    return figures


def _answers(found: Mapping[str, Any]) -> Iterator[tuple[float, bool]]:
    for sample in found["samples"][TASK]:
        for answer in sample["filtered_resps"]:
            yield float(answer[0]), str(answer[1]) == "True"


def _choice(sample: Mapping[str, Any]) -> int:
    scores = [float(answer[0]) for answer in sample["filtered_resps"]]
    return scores.index(max(scores))


if __name__ == "__main__":
    sys.exit(main())
