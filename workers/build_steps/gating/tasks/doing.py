"""Both models do the tasks, in this process and one request at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from workers.build_steps.events import Events
from workers.build_steps.gating.tasks.harness import explained
from workers.build_steps.gating.tasks.opening import OpenTask
from workers.build_steps.gating.tasks.results import Figures, figures_of

_SEED = 1234
"""Of the examples that are shown, and of tasks that sample: the same for both models."""


@dataclass(frozen=True, kw_only=True)
class Doing:
    tasks: Sequence[OpenTask]
    tokenizer: Any
    max_length: int | None
    """Tokens of a request and its answer that engines will take; None for the model's own."""
    events: Events

    def do(self, model: nn.Module) -> Mapping[str, Figures]:
        """Return each task's figures of this model."""
        if not self.tasks:
            return {}
        answering = _answering(model, self)
        return {task.name: self._figures(task, answering) for task in self.tasks}

    def _figures(self, task: OpenTask, answering: Any) -> Figures:
        from lm_eval.evaluator import evaluate

        torch.manual_seed(_SEED)
        with explained(task.name):
            for each in task.loaded["tasks"].values():
                each.set_fewshot_seed(seed=_SEED)
            results = evaluate(
                answering,
                task.loaded,
                limit=task.settings.limit,
                bootstrap_iters=0,
                log_samples=False,
            )
        return figures_of(task.name, results)


def _answering(model: nn.Module, doing: Doing) -> Any:
    """Return the model as lm-eval asks it, which tells its progress."""
    from lm_eval.models.huggingface import HFLM

    class Answering(HFLM):  # type: ignore[misc]
        def loglikelihood(self, requests: Any, disable_tqdm: bool = True) -> Any:
            self.cache_hook = _Progress(doing.events, len(requests))
            return super().loglikelihood(requests, disable_tqdm=True)

        def loglikelihood_rolling(self, requests: Any, disable_tqdm: bool = True) -> Any:
            self.cache_hook = _Progress(doing.events, len(requests))
            return super().loglikelihood_rolling(requests, disable_tqdm=True)

        def generate_until(self, requests: Any, disable_tqdm: bool = True) -> Any:
            self.cache_hook = _Progress(doing.events, len(requests))
            return super().generate_until(requests, disable_tqdm=True)

    made = Answering(pretrained=model, tokenizer=doing.tokenizer, backend="causal", batch_size=1)
    if doing.max_length is not None:
        made._max_length = min(doing.max_length, made.max_length)
    return made


class _Progress:
    """Stands where lm-eval keeps answers, which it does one by one."""

    def __init__(self, events: Events, total: int) -> None:
        self._tell: Callable[[int], None] = lambda done: events.progress(done, total, "answers")
        self._done, self._total = 0, total
        self._tell(0)

    def add_partial(self, *_: Any) -> None:
        self._done = min(self._done + 1, self._total)
        self._tell(self._done)
