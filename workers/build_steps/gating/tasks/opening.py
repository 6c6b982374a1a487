"""The tasks of a config, found and their questions read before any model is loaded."""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from controlplane.domain.spec import Spec
from controlplane.domain.spec.gate_tasks import GateTask
from controlplane.domain.step_results import DataIdentity
from workers.build_steps.calibration.dataset import Places
from workers.build_steps.calibration.failures import changed
from workers.build_steps.gating import failures
from workers.build_steps.gating.tasks.definitions import task_config
from workers.build_steps.gating.tasks.harness import (
    check_installed,
    explained,
    harness_version,
    prepare,
)
from workers.build_steps.gating.tasks.results import chosen
from workers.build_steps.gating.tasks.rows import read_task_rows
from workers.build_steps.gating.tasks.trial import figures_had
from workers.build_steps.job import Job

OF_THE_HARNESS = "lm-eval/"
"""Stands before the name of a task whose questions lm-eval brings or fetches."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class OpenTask:
    name: str
    settings: GateTask
    loaded: Mapping[str, Any]
    """What lm-eval made of it, as its `evaluate` takes it."""
    identity: DataIdentity


def configured_tasks(spec: Spec) -> Mapping[str, GateTask]:
    """Return the tasks that a build is to do: none where nothing is measured."""
    gate = spec.settings.gate
    does = gate.enabled and not spec.quantization_type.is_none and not spec.base_model.is_encoder
    return gate.tasks if does else {}


def open_tasks(job: Job) -> tuple[OpenTask, ...]:
    """Return the tasks of a job; raises StepFailure for one that cannot be done here."""
    spec = Spec.model_validate(job.spec)
    tasks = configured_tasks(spec)
    if not tasks:
        return ()
    check_installed()
    places = Places.of_job(spec, job.options, job.secrets)
    prepare(places.sources, job.options.cache_dir, places.token)
    opener = _Opener(places=places)
    return tuple(opener.open(name, task) for name, task in tasks.items())


def refuse_change(tasks: tuple[OpenTask, ...], began_with: tuple[DataIdentity, ...]) -> None:
    """Raise StepFailure where a task has other questions than those that the build began with."""
    pinned = {each.config: each.revision for each in began_with}
    for task in tasks:
        was = pinned.get(task.name, task.identity.revision)
        if was != task.identity.revision:
            raise changed(task.identity.dataset, was, task.identity.revision)


class _Opener:
    def __init__(self, *, places: Places) -> None:
        self._places = places
        self._manager: Any = None

    def open(self, name: str, settings: GateTask) -> OpenTask:
        with explained(name):
            own = settings.dataset is not None and settings.definition is not None
            task = self._own(name, settings) if own else self._of_harness(name, settings)
            chosen(name, settings.metric, figures_had(name, task.loaded))
        log.info("task %s: %s", name, task.identity.revision)
        return task

    def _own(self, name: str, settings: GateTask) -> OpenTask:
        from lm_eval.api.task import ConfigurableTask

        assert settings.dataset is not None
        assert settings.definition is not None
        rows, revision = read_task_rows(name, settings.dataset, self._places)
        made = ConfigurableTask(config=task_config(name, settings.definition, rows))
        # What a template makes of a row shows here, before hours of calibration.
        made.build_all_requests(limit=settings.limit, rank=0, world_size=1)
        identity = DataIdentity(dataset=settings.dataset, config=name, revision=revision)
        return OpenTask(
            name=name, settings=settings, loaded={"tasks": {name: made}}, identity=identity
        )

    def _of_harness(self, name: str, settings: GateTask) -> OpenTask:
        from lm_eval.tasks import TaskManager

        self._manager = self._manager or TaskManager()
        known = {*self._manager.all_subtasks, *self._manager.all_groups}
        if name not in known:
            close = get_close_matches(name, known, n=1)
            raise failures.unknown_task(name, harness_version(), close[0] if close else None)
        loaded = self._manager.load([name])
        _refuse_unsafe(name, loaded)
        identity = DataIdentity(
            dataset=f"{OF_THE_HARNESS}{name}",
            config=name,
            revision=digest_of_questions(loaded, settings.limit),
        )
        return OpenTask(name=name, settings=settings, loaded=loaded, identity=identity)


def _refuse_unsafe(name: str, loaded: Mapping[str, Any]) -> None:
    if any(getattr(each, "UNSAFE_CODE", False) for each in loaded["tasks"].values()):
        raise failures.broken_task(name, "it runs the code that models write, which is not done")


def digest_of_questions(loaded: Mapping[str, Any], limit: int | None) -> str:
    digest = hashlib.sha256()
    for name, task in sorted(loaded["tasks"].items()):
        for _, row in task.doc_iterator(rank=0, limit=limit, world_size=1):
            digest.update(json.dumps([name, row], sort_keys=True, default=str).encode())
        for row in _examples(task):
            digest.update(json.dumps([name, "shown", row], sort_keys=True, default=str).encode())
    return f"sha256:{digest.hexdigest()}"


def _examples(task: Any) -> Iterator[Any]:
    """Yield how many examples are shown with each question, and the rows that they are drawn of."""
    if shown := task.config.num_fewshot:
        yield shown
        yield from task.fewshot_docs() or ()
