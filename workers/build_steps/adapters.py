"""LoRA adapters of a build: fetched beside the model, and into the artifact."""

import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from controlplane.domain.failures import Failure, fields
from controlplane.domain.failures.registry import any_source
from controlplane.domain.spec import CheckpointRepository, Spec
from controlplane.domain.spec.adapter_folders import ADAPTERS_FOLDER, adapter_folder
from controlplane.domain.spec.engine_build import LoraConfiguration
from controlplane.domain.spec.repository_forms import shown
from controlplane.domain.step_results import FetchedAdapter
from controlplane.sources import SourceFailure, SourceOptions, fetch, resolve
from workers.build_steps.adapter_check import check_adapter
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import Job
from workers.build_steps.weights.failures import held
from workers.build_steps.weights.finiteness import NotFinite

FIELD = "trt_llm.build.lora_adapters"

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class _Place:
    name: str
    repository: CheckpointRepository
    token: str | None
    folder: Path


def fetch_adapters(
    job: Job, model: Path, options: SourceOptions, events: Events
) -> tuple[list[FetchedAdapter], dict[str, str]]:
    """Return what each adapter is, and the digests of its files by path below the model."""
    build = Spec.model_validate(job.spec).engine_build
    limit = (build.lora_configuration or LoraConfiguration()).max_lora_rank
    fetched, digests = [], dict[str, str]()
    for name, repository in (build.lora_adapters or {}).items():
        if set(name) <= {"."}:
            raise _refusal(name, "The name of an adapter cannot be made of dots alone.")
        place = _Place(
            name=name,
            repository=repository,
            token=job.secrets.get(repository.runtime_secret_name),
            folder=Path(adapter_folder(str(model), name)),
        )
        adapter, files = _fetched(place, options, events)
        try:
            check_adapter(place.folder, model, max_rank=limit)
        except ValueError as error:
            raise _refusal(name, str(error)) from error
        fetched.append(adapter)
        digests.update(files)
    return fetched, digests


def carry_adapters(fetched: Path, made: Path) -> None:
    """Let a model that a later step made have the adapters of the fetched one."""
    source = fetched / ADAPTERS_FOLDER
    if source.is_dir():
        # Links: both folders are steps' outputs, and nobody writes to them again.
        shutil.copytree(source, made / ADAPTERS_FOLDER, copy_function=os.link)


def _fetched(
    place: _Place, options: SourceOptions, events: Events
) -> tuple[FetchedAdapter, Mapping[str, str]]:
    try:
        return _fetch(place, options, events)
    except SourceFailure as error:
        raise StepFailure(_of_adapter(place.name, error.failure)) from error


def _fetch(
    place: _Place, options: SourceOptions, events: Events
) -> tuple[FetchedAdapter, Mapping[str, str]]:
    def show(done: int, total: int | None) -> None:
        events.progress(done, total, "bytes")

    repository, token = place.repository, place.token
    resolved = resolve(repository, token=token, options=options, is_adapter=True, on_progress=show)
    seen = NotFinite()
    files = fetch(
        resolved, place.folder, token=token, options=options, on_progress=show, look=seen.look
    )
    _refuse_not_finite(place.name, seen)
    where = shown(repository.repo)
    log.info("adapter %s: %s at %s", place.name, where, resolved.commit)
    adapter = FetchedAdapter(
        name=place.name, source=repository.source.value, repo=where, commit=resolved.commit
    )
    below = adapter_folder("", place.name).lstrip("/")
    return adapter, {f"{below}/{each.path}": each.sha256 for each in files}


def _refuse_not_finite(name: str, seen: NotFinite) -> None:
    for counts in seen.faulty_files().values():
        tensor, count = next(iter(counts.items()))
        raise _refusal(name, f"Its tensor {held(tensor, count)}.")


def _of_adapter(name: str, failure: Failure) -> Failure:
    return replace(
        failure,
        sentence=f"Adapter `{name}`: {failure.sentence}",
        field=failure.field and failure.field.replace(fields.REPOSITORY, f"{FIELD}.{name}"),
    )


def _refusal(name: str, reason: str) -> StepFailure:
    return StepFailure.of(any_source.ADAPTER, name=name, reason=reason, field=f"{FIELD}.{name}")
