from collections.abc import Sequence
from dataclasses import dataclass

from apps.ui import formats
from controlplane.domain.gate_result import (
    GateFigures,
    GateLimits,
    GateResult,
    GateTask,
    LostSample,
)
from controlplane.domain.lifecycle import StepState

UNMEASURED = "unmeasured"
_STATES = {
    "passed": StepState.FINISHED,
    "failed": StepState.FAILED,
    UNMEASURED: StepState.WAITING,
}


@dataclass(frozen=True, kw_only=True)
class Figure:
    label: str
    about: str = ""
    """Of a task: what of it is counted, on how many questions."""
    original: str = formats.ABSENT
    exported: str = formats.ABSENT
    measured: str
    limit: str = formats.ABSENT

    @property
    def words(self) -> str:
        """What is measured, within a sentence; a task keeps the letters of its name."""
        return f"{self.label}, {self.about}" if self.about else self.label.lower()


@dataclass(frozen=True, kw_only=True)
class WorstSample:
    figure: str
    tokens: int
    text: str


@dataclass(frozen=True, kw_only=True)
class GatePanel:
    result: GateResult

    @property
    def word(self) -> str:
        """`passed`, `failed` or `unmeasured`."""
        return self.result.state

    @property
    def pill_state(self) -> str:
        return _STATES[self.word]

    @property
    def measured_on(self) -> str:
        if (evaluation := self.result.evaluation) is None:
            return ""
        count = evaluation.samples
        whence = "held-out sample" if evaluation.held_out else "sample"
        return (
            f"{count} {whence}{'' if count == 1 else 's'} of {evaluation.dataset}, "
            f"{self.result.measured_by}{self._computed_in}"
        )

    @property
    def _computed_in(self) -> str:
        dtype = self.result.compute_dtype
        return f", computed in {dtype}" if dtype else ""

    @property
    def adapters_left_out(self) -> Sequence[str]:
        return self.result.adapters_left_out

    @property
    def reason(self) -> str:
        """Why nothing was measured; empty where something was."""
        return self.result.reason or "" if self.word == UNMEASURED else ""

    @property
    def figures(self) -> Sequence[Figure]:
        if (figures := self.result.figures) is None:
            return ()
        limits = self.result.limits or GateLimits()
        if self.result.kind == "encoder":
            return _of_encoder(figures, limits.max_agreement_loss)
        return [*_of_generation(figures, limits), *_of_tasks(self.result.tasks)]

    @property
    def worst(self) -> Sequence[WorstSample]:
        return [
            WorstSample(figure=_lost(each), tokens=each.tokens, text=each.text)
            for each in self.result.worst
        ]


def gate_words(gate: GateResult | str) -> str:
    """Return the gate's place in a passport: `passed: perplexity +3.8 %, limit +6 %`."""
    if isinstance(gate, str):
        return gate
    panel = GatePanel(result=gate)
    if panel.word == UNMEASURED:
        return panel.word
    measured = [
        f"{each.words} {each.measured}, limit {each.limit}"
        for each in panel.figures
        if each.limit != formats.ABSENT
    ]
    return f"{panel.word}: {'; '.join(measured)}" if measured else panel.word


def _of_generation(figures: GateFigures, limits: GateLimits) -> Sequence[Figure]:
    choice = limits.min_same_choice
    return [
        Figure(
            label="Perplexity",
            original=formats.number(figures.perplexity_original, 2),
            exported=formats.number(figures.perplexity_quantized, 2),
            measured=_signed(figures.perplexity_change),
            limit=_signed(limits.max_perplexity_increase),
        ),
        Figure(
            label="Logit drift per token",
            measured=_nats(figures.logit_drift_nats),
            limit=_nats(limits.max_logit_drift_nats),
        ),
        Figure(
            label="Top-1 agreement",
            measured=formats.percent(figures.same_choice),
            limit=formats.ABSENT if choice is None else f"at least {formats.percent(choice)}",
        ),
    ]


def _of_tasks(tasks: Sequence[GateTask]) -> Sequence[Figure]:
    return [
        Figure(
            label=each.task,
            about=f"{each.metric}, {_questions(each.questions)}",
            original=formats.number(each.original, 4),
            exported=formats.number(each.quantized, 4),
            measured=_change_of(each),
            limit=_allowed(each),
        )
        for each in tasks
    ]


def _questions(count: int) -> str:
    return f"{formats.number(count)} question{'' if count == 1 else 's'}"


def _change_of(task: GateTask) -> str:
    """Return by how much the figure changed, and by which share where that is limited."""
    before, by = task.original, task.quantized - task.original
    if task.max_loss_share is None or not before:
        return _changed(by)
    return f"{_changed(by)} ({_signed(by / abs(before))})"


def _allowed(task: GateTask) -> str:
    """Return how much worse the figure may be: `-0.0200`, where more is better."""
    sign = -1 if task.higher_is_better else 1
    limits = []
    if (loss := task.max_loss) is not None:
        limits.append(_changed(sign * loss))
    if (share := task.max_loss_share) is not None:
        limits.append(f"{'-' if sign < 0 else '+'}{formats.percent(share)}")
    return " and ".join(limits)


def _changed(by: float) -> str:
    return f"{'-' if by < 0 else '+'}{formats.number(abs(by), 4)}"


def _of_encoder(figures: GateFigures, limit: float | None) -> Sequence[Figure]:
    least = formats.ABSENT if limit is None else f"at least {formats.number(1 - limit, 4)}"
    rows = [
        Figure(
            label="Mean cosine",
            measured=formats.number(figures.mean_cosine, 4),
            limit=least,
        )
    ]
    if (agreed := figures.label_agreement) is not None:
        agreement = formats.number(agreed, 4)
        rows.append(Figure(label="Label agreement", measured=agreement, limit=least))
    return rows


def _lost(sample: LostSample) -> str:
    if "cosine" in sample.model_fields_set:
        return f"cosine {formats.number(sample.cosine, 4)}"
    return f"perplexity × {formats.number(sample.perplexity_ratio, 3)}"


def _nats(drift: float | None) -> str:
    return formats.ABSENT if drift is None else f"{formats.number(drift, 4)} nats"


def _signed(share: float | None) -> str:
    if share is None:
        return formats.ABSENT
    return f"{'-' if share < 0 else '+'}{formats.percent(abs(share))}"
