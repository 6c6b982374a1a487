"""What the models made of tasks, and whether the quantized one lost too much."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.domain.failures.registry import gate
from controlplane.domain.spec.gate_tasks import GateTask
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures

_NO_FILTER = "none"
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Figures:
    values: Mapping[str, float]
    """By the metric's name, `exact_match,NAME` where a filter comes before."""
    higher_is_better: Mapping[str, bool]
    questions: int


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """A task as both models did it, by the figure that it is judged by."""

    task: str
    metric: str
    before: float
    after: float
    higher_is_better: bool
    questions: int
    settings: GateTask
    others: Mapping[str, tuple[float, float]]
    """The other figures of the task: of the original, of the quantized model."""

    @property
    def loss(self) -> float:
        """By how much the quantized model is worse; below zero where it is better."""
        change = self.before - self.after
        return change if self.higher_is_better else -change

    @property
    def share(self) -> float:
        """The loss as a share of the original's figure."""
        return self.loss / abs(self.before) if self.before else math.copysign(math.inf, self.loss)

    def failure(self) -> StepFailure | None:
        if self.loss <= _ROUNDING:
            return None
        limit, share = self.settings.allowed_loss, self.settings.max_loss_share
        if limit is not None and self.loss > limit + _ROUNDING:
            return self._lost(f"{limit:.4f}")
        if share is not None and self.share > share + _ROUNDING:
            return self._lost(f"{share:.1%} of the original's")
        return None

    def _lost(self, limit: str) -> StepFailure:
        return failures.task_lost(
            self.task, self.metric, before=self.before, after=self.after,
            questions=self.questions, limit=limit,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "metric": self.metric,
            "original": round(self.before, 6),
            "quantized": round(self.after, 6),
            "loss": round(self.loss, 6),
            "higher_is_better": self.higher_is_better,
            "questions": self.questions,
            "max_loss": self.settings.allowed_loss,
            "max_loss_share": self.settings.max_loss_share,
            "others": {
                name: {"original": round(before, 6), "quantized": round(after, 6)}
                for name, (before, after) in self.others.items()
            },
        }


def figures_of(task: str, results: Mapping[str, Any]) -> Figures:
    """Return the figures that lm-eval reports of a task; counts and errors are none."""
    metrics = results["results"].get(task, {})
    values = {
        _shown(key): float(value)
        for key, value in metrics.items()
        if "," in key and "_stderr," not in key and isinstance(value, int | float)
    }
    better = results.get("higher_is_better", {}).get(task, {})
    counts = results.get("n-samples", {}).values()
    return Figures(
        values=values,
        higher_is_better={key: better.get(key.partition(",")[0]) is not False for key in values},
        questions=sum(each["effective"] for each in counts),
    )


def compare(task: str, settings: GateTask, before: Figures, after: Figures) -> TaskResult:
    """Return the task by the figure that judges it; raises StepFailure for no number."""
    metric = chosen(task, settings.metric, list(before.values))
    for which, figures in (("original", before), ("quantized", after)):
        if not math.isfinite(figures.values[metric]):
            raise StepFailure.of(gate.NOT_FINITE, which=which)
    return TaskResult(
        task=task, metric=metric, before=before.values[metric], after=after.values[metric],
        higher_is_better=before.higher_is_better[metric], questions=before.questions,
        settings=settings,
        others={
            name: (value, after.values[name])
            for name, value in before.values.items()
            if name != metric and math.isfinite(value) and math.isfinite(after.values[name])
        },
    )  # fmt: skip


def chosen(task: str, metric: str | None, known: Sequence[str]) -> str:
    """Return the figure that judges a task; raises StepFailure where there is none such."""
    matching = [
        each for each in known if metric is None or metric in (each, each.partition(",")[0])
    ]
    if not matching:
        raise failures.no_metric(task, metric, known)
    return matching[0]


def _shown(key: str) -> str:
    return key.removesuffix(f",{_NO_FILTER}")
