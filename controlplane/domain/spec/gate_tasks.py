"""`enginehouse.gate.tasks`: tasks of lm-eval, its own and those of the user's rows."""

from typing import Annotated, Literal, Self

from pydantic import Field, StrictInt, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from controlplane.domain.spec.section import NonEmptyText, Section

TaskName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.()-]{0,127}$")]
Loss = Annotated[float, Field(ge=0, le=1)]
DEFAULT_MAX_LOSS = 0.02


class GenerationSettings(Section):
    """How the answers of a task are generated, always greedily."""

    until: Annotated[tuple[NonEmptyText, ...], Field(max_length=16)] = ()
    """Texts that end an answer; the blank line between examples when absent."""
    max_gen_toks: Annotated[StrictInt, Field(ge=1, le=4096)] = 256
    """Tokens of an answer."""


class TaskMetric(Section):
    """A figure of a task."""

    metric: Literal["acc", "acc_norm", "exact_match", "perplexity", "bleu", "chrf"]
    """What is counted."""
    aggregation: Literal["mean", "perplexity", "bleu", "chrf"] | None = None
    """How the questions' figures become one; as the metric has it when absent."""
    higher_is_better: bool | None = None
    """Whether more is better; as the metric has it when absent."""
    ignore_case: bool | None = None
    """`exact_match`: let `Paris` be `paris`."""
    ignore_punctuation: bool | None = None
    """`exact_match`: let `Paris.` be `Paris`."""


class FilterStep(Section):
    """What is done to an answer before it is compared."""

    function: Literal["regex", "remove_whitespace", "lowercase", "take_first"]
    """The name of the filter."""
    regex_pattern: str | None = None
    """`regex`: what is looked for; its first group is the answer."""
    group_select: int | None = None
    """`regex`: which of several finds counts; -1 is the last."""
    fallback: str | None = None
    """`regex`: the answer where nothing is found."""


class TaskFilter(Section):
    """Steps from an answer to what is compared, with a figure of their own."""

    name: NonEmptyText
    """Stands behind the figure's name."""
    filter: Annotated[tuple[FilterStep, ...], Field(max_length=8)]
    """The steps, the first one first."""


class TaskDefinition(Section):
    """A task of the user's own rows, by the keys of lm-eval's YAML."""

    output_type: Literal["multiple_choice", "generate_until", "loglikelihood"]
    """Choose among answers, write one, or find a given one likely."""
    doc_to_text: NonEmptyText
    """The question: a column, or a Jinja template over the columns."""
    doc_to_target: str | StrictInt
    """The answer: a column, a template, or of choices the place of the right one."""
    doc_to_choice: str | Annotated[tuple[str, ...], Field(max_length=64)] | None = None
    """The choices: a column, a template, or the choices themselves."""
    description: str = ""
    """Stands before the first example."""
    target_delimiter: str = " "
    """Stands between question and answer."""
    fewshot_delimiter: str = "\n\n"
    """Stands between examples."""
    num_fewshot: Annotated[StrictInt, Field(ge=0, le=32)] = 0
    """Other rows that are shown as examples with their answers."""
    generation_kwargs: GenerationSettings | None = None
    """`generate_until`: how answers are generated."""
    metric_list: Annotated[tuple[TaskMetric, ...], Field(max_length=8)] = ()
    """The figures; those of the output type when absent."""
    filter_list: Annotated[tuple[TaskFilter, ...], Field(max_length=8)] = ()
    """What is done to answers before they are compared."""


class GateTask(Section):
    """A task of lm-eval, and how much worse the quantized model may do it."""

    limit: Annotated[StrictInt, Field(ge=1, le=100_000)] | None = None
    """Questions to ask, from the front; all when absent."""
    metric: NonEmptyText | None = None
    """The figure to judge by, as `acc_norm`; the task's first one when absent."""
    max_loss: Loss | None = None
    """How much worse the figure may be: 0.02, the default, is two points of accuracy."""
    max_loss_share: Loss | None = None
    """The same as a share of the original's figure."""
    dataset: NonEmptyText | None = None
    """Rows of a task of your own: a set of the team, or a `.jsonl` file of the server."""
    definition: TaskDefinition | None = None
    """What is asked of these rows; absent for lm-eval's own tasks."""

    @property
    def allowed_loss(self) -> float | None:
        """The limit in the figure's own unit; None where only a share is limited."""
        if self.max_loss is None and self.max_loss_share is None:
            return DEFAULT_MAX_LOSS
        return self.max_loss

    @model_validator(mode="after")
    def _rows_are_defined(self) -> Self:
        if (self.dataset is None) != (self.definition is None):
            raise PydanticCustomError(
                "incomplete",
                "a task of your own needs both `dataset`, its rows, and `definition`; a task of "
                "lm-eval has neither",
            )
        return self
