from collections.abc import Callable, Sequence
from typing import Any

from controlplane.domain.spec.gate_tasks import TaskDefinition
from workers.build_steps.gating.tasks.rows import Row

_SPLIT = "rows"


def task_config(name: str, definition: TaskDefinition, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the config of a task; what it names is text, never code."""
    config = definition.model_dump(mode="json", exclude_none=True, exclude={"generation_kwargs"})
    for absent in ("metric_list", "filter_list"):
        if not config[absent]:
            del config[absent]  # lm-eval has its own for each output type
    return {
        **config,
        "task": name,
        "custom_dataset": _data_set(rows),
        "test_split": _SPLIT,
        "fewshot_split": _SPLIT,
        **_generation(definition),
    }


def _data_set(rows: Sequence[Row]) -> Callable[..., Any]:
    def make(**_: Any) -> Any:
        import datasets

        return datasets.DatasetDict({_SPLIT: datasets.Dataset.from_list([*map(dict, rows)])})

    return make


def _generation(definition: TaskDefinition) -> dict[str, Any]:
    if definition.output_type != "generate_until" or definition.generation_kwargs is None:
        return {}
    settings = definition.generation_kwargs
    until = list(settings.until) or [definition.fewshot_delimiter]
    return {
        "generation_kwargs": {
            "until": until,
            "max_gen_toks": settings.max_gen_toks,
            "do_sample": False,
        }
    }
