"""Step `fetch`: the checkpoint's files, pinned to a commit and verified."""

import logging
from dataclasses import asdict
from typing import Any

from controlplane.domain.failures.registry import build
from controlplane.domain.spec import Spec
from controlplane.domain.spec.repository_forms import shown
from controlplane.domain.step_results import DataIdentity, FetchedFile, FetchResult
from controlplane.sources import fetch, resolve
from workers.build_steps import remote_code
from workers.build_steps.adapters import fetch_adapters
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import MODEL_FOLDER, Job
from workers.build_steps.step import StepResult
from workers.build_steps.weights.finiteness import NotFinite

log = logging.getLogger(__name__)


def run(job: Job, events: Events) -> StepResult:
    """Return the commit and the files, now in the `model` folder of the output.

    The data sets to calibrate on and to measure on, where there are any, are found and pinned
    before the long download.
    """
    checkpoint = Spec.model_validate(job.spec).checkpoint
    if checkpoint is None:
        raise StepFailure.of(build.NO_CHECKPOINT)
    options = job.options.sources()
    token = job.secrets.get(checkpoint.runtime_secret_name)

    def show(done: int, total: int | None) -> None:
        events.progress(done, total, "bytes")

    resolved = resolve(
        checkpoint,
        token=token,
        options=options,
        commit=job.options.commit,
        with_code=lambda commit: remote_code.grant_at(job, commit) is not None,
        on_progress=show,
    )
    log.info(
        "%s at %s: %d files, %.1f MB",
        shown(checkpoint.repo),
        resolved.commit,
        len(resolved.files),
        resolved.size_bytes / 1e6,
    )
    data, seen = _data_sets(job), NotFinite()
    files = fetch(
        resolved,
        job.output / MODEL_FOLDER,
        token=token,
        options=options,
        on_progress=show,
        look=seen.look,
    )
    is_granted = remote_code.grant_at(job, resolved.commit) is not None
    files, code = remote_code.kept(files, job.output / MODEL_FOLDER, is_granted=is_granted)
    adapters, adapter_digests = fetch_adapters(job, job.output / MODEL_FOLDER, options, events)
    log.info("fetched and verified")
    return StepResult(
        values=FetchResult(
            commit=resolved.commit,
            files=tuple(FetchedFile(**asdict(each)) for each in files),
            bytes=sum(each.size_bytes for each in files),
            model_dir=MODEL_FOLDER,
            adapters=tuple(adapters),
            not_finite=seen.faulty_files(),
            **code,
            **data,
        ).to_json(),
        digests={
            **{f"{MODEL_FOLDER}/{each.path}": each.sha256 for each in files},
            **{f"{MODEL_FOLDER}/{path}": sha256 for path, sha256 in adapter_digests.items()},
        },
    )


def _data_sets(job: Job) -> dict[str, Any]:
    spec = Spec.model_validate(job.spec)
    names: dict[str, str | None] = {"calibration": None, "evaluation": None}
    if not spec.quantization_type.is_none:
        names["calibration"] = spec.engine_build.quantization_config.calib_dataset
        gate = spec.settings.gate
        names["evaluation"] = gate.evaluation_dataset if gate.enabled else None
    identities = {use: _identity(name, spec, job) if name else None for use, name in names.items()}
    return {**identities, "tasks": _questions(job, spec)}


def _questions(job: Job, spec: Spec) -> tuple[DataIdentity, ...]:
    """Return the questions of the gate's tasks; raises StepFailure where they cannot be asked."""
    if not spec.settings.gate.tasks:
        return ()
    # Imported here: few builds do tasks.
    from workers.build_steps.gating.tasks.opening import open_tasks

    return tuple(each.identity for each in open_tasks(job))


def _identity(name: str, spec: Spec, job: Job) -> DataIdentity:
    # Imported here: an unquantized build has no use for Parquet.
    from workers.build_steps.calibration.dataset import OpenDataset, Places

    dataset = OpenDataset(name, Places.of_job(spec, job.options, job.secrets))
    log.info("data set %s at %s", name, dataset.identity.revision)
    return dataset.identity
