"""Which figures a task has, by one question that no model answers."""

from collections.abc import Mapping
from typing import Any

from workers.build_steps.gating.tasks.results import figures_of


def figures_had(task: str, loaded: Mapping[str, Any]) -> list[str]:
    from lm_eval.evaluator import evaluate

    results = evaluate(_nobody(), loaded, limit=1, bootstrap_iters=0, log_samples=False)
    return list(figures_of(task, results).values)


def _nobody() -> Any:
    from lm_eval.api.model import LM

    class Nobody(LM):  # type: ignore[misc]
        def loglikelihood(self, requests: Any, disable_tqdm: bool = True) -> Any:
            return [(-1.0, False) for _ in requests]

        def loglikelihood_rolling(self, requests: Any, disable_tqdm: bool = True) -> Any:
            return [-1.0 for _ in requests]

        def generate_until(self, requests: Any, disable_tqdm: bool = True) -> Any:
            return ["" for _ in requests]

    return Nobody()
