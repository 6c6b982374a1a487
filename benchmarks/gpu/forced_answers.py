"""A plugin of vLLM for benchmarks: its sampler says recorded answers, whatever the weights are.

The file that FORCED_ANSWERS names holds pairs of a prompt and its answer, as token ids. All of a
step is computed as ever; then the scores of the recorded tokens are raised, and drafts are verified
against those. STEP_TIMES names a file that gets a line of JSON for each part of each step. With
FILLED_UP, steps of few tokens have no graphs of their own, whatever a drafter of ours asks. For the
V1 model runner of vLLM 0.25; it imports nothing else of ours.
"""

import importlib.abc
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RUNNER = "vllm.v1.worker.gpu_model_runner"
FORCED_SCORE = 1e30


def install() -> None:
    """Change the model runner's class as soon as it is imported."""
    if RUNNER in sys.modules:
        _change(sys.modules[RUNNER])
    elif not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class Answers:
    """Finds the recorded answer of a request by its prompt."""

    def __init__(self, pairs: list[tuple[list[int], list[int]]]) -> None:
        self._answers = {tuple(prompt): answer for prompt, answer in pairs}
        self._of_requests: dict[str, tuple[int, list[int]] | None] = {}

    def following(self, request: str, prompt: list[int], length: int, count: int) -> list[int]:
        """Return so many tokens that follow the first `length`; none where none are recorded."""
        if request not in self._of_requests:
            answer = self._answers.get(tuple(prompt))
            self._of_requests[request] = None if answer is None else (len(prompt), answer)
        if (outcome := self._of_requests[request]) is None:
            return []
        start = length - outcome[0]
        tokens = outcome[1][start : start + count]
        return tokens + [0] * (count - len(tokens))


def force(runner: Any, logits: Any, metadata: Any, answers: Answers) -> None:
    """Raise the scores of the recorded tokens: each row has one line for each draft, and one."""
    import torch

    lines: list[int] = []
    tokens: list[int] = []
    first = 0
    for row, request in enumerate(runner.input_batch.req_ids):
        count = 1 + (metadata.num_draft_tokens[row] if metadata is not None else 0)
        prompt = runner.requests[request].prompt_token_ids
        length = int(runner.input_batch.num_tokens_no_spec[row])
        forced = answers.following(request, prompt, length, count)
        lines += range(first, first + len(forced))
        tokens += forced
        first += count
    if first != logits.shape[0]:
        raise RuntimeError(f"{logits.shape[0]} lines of scores for {first} tokens")
    if lines:
        places = torch.tensor([lines, tokens], device=logits.device)
        logits[places[0], places[1]] = FORCED_SCORE


class _Finder(importlib.abc.MetaPathFinder):
    """Lets the module be found by the others, and changes it when it has been carried out."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != RUNNER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            carry_out = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                carry_out(module)
                _change(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _change(module: Any) -> None:
    runner = module.GPUModelRunner
    if hasattr(runner, "sample_freely"):
        return
    answers = Answers(json.loads(Path(os.environ["FORCED_ANSWERS"]).read_text()))
    runner.sample_freely = runner._sample

    def sample(self: Any, logits: Any, metadata: Any) -> Any:
        if logits is not None:
            force(self, logits, metadata, answers)
        return self.sample_freely(logits, metadata)

    runner._sample = sample
    if path := os.environ.get("STEP_TIMES"):
        _time(runner, path)
    if os.environ.get("FILLED_UP"):
        _fill_up_small_steps()
    print("forced answers: the sampler of the V1 model runner says them", file=sys.stderr)


def _time(runner: Any, path: str) -> None:
    lines = Path(path).open("a", buffering=1)  # noqa: SIM115 (open as long as the process is)

    def timed(part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: Any, *given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            outcome = work(self, *given, **named)
            took = time.perf_counter() - began
            tokens = getattr(given[0] if given else None, "total_num_scheduled_tokens", None)
            lines.write(json.dumps([part, round(began, 6), round(took, 6), tokens]) + "\n")
            return outcome

        return run

    for part in ("execute_model", "_sample", "propose_draft_token_ids"):
        setattr(runner, part, timed(part, getattr(runner, part)))


def _fill_up_small_steps() -> None:
    from workers.lookahead import vllm_graphs

    vllm_graphs.SMALL_STEPS = ()  # type: ignore[misc]
