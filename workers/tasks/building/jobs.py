"""The job of a step: what its child is told, from rows and settings."""

import os
import sys
from collections.abc import Mapping
from typing import Any

import psutil
from django.conf import settings

from apps.builds.models import Build
from apps.builds.selectors import build_requester
from apps.configs.calibration_sets.selectors import sets_of_job
from apps.configs.selectors import device_offers
from apps.secrets.names import normal_name
from apps.secrets.selectors import secret_expiries, secret_names
from controlplane import clock
from controlplane.domain.lifecycle import StepState
from controlplane.domain.spec import Spec
from controlplane.domain.step_results import FetchResult
from workers.build_steps.job import Job
from workers.build_steps.options import JobOptions
from workers.tasks.building.devices import HeldDevices
from workers.tasks.building.folders import BuildFolder
from workers.tasks.building.remote_code import grants_of_build
from workers.tasks.checkpoint_sources import source_settings


def step_job(
    build: Build,
    *,
    step: str,
    folder: BuildFolder,
    inputs: tuple[str, ...],
    devices: HeldDevices | None,
) -> Job:
    """Return the job of one step; `inputs` are the steps whose output is published.

    `devices` is what the step may take, None for one that holds no model.
    """
    return Job(
        build_id=build.id,
        attempt=build.attempt,
        spec=build.spec,
        inputs={name: str(folder.published(name)) for name in inputs},
        output_dir=str(folder.draft(step)),
        python=sys.executable,
        options=JobOptions(
            **source_settings(),
            artifact_url=settings.ARTIFACT_URL,
            cpu_threads=cpu_threads(),
            device=devices.device if devices else "cpu",
            memory_bytes=devices.memory_bytes if devices else psutil.virtual_memory().total,
            commit=_pinned_commit(build),
            built_by=build_requester(build),
            built_at=clock.now().isoformat(),
            promoted=build.promotion,
            remote_code=grants_of_build(build),
            calibration_sets=sets_of_job(
                team=build.team,
                spec=Spec.model_validate(build.revision.spec),
                pinned=pinned_data(build),
            ),
            **_known(build),
        ),
    )


def cpu_threads() -> int:
    threads: int = settings.ENGINE_CPU_THREADS
    return threads or len(os.sched_getaffinity(0))


def _pinned_commit(build: Build) -> str | None:
    """Return the commit that this attempt fetched before: what goes on must not change."""
    for step in build.steps.all():
        if step.name == "fetch" and step.state == "finished" and step.result:
            return FetchResult.model_validate(step.result).commit
    return None


def pinned_data(build: Build) -> Mapping[str, str]:
    """Return the data that this attempt began with, as data set -> digest.

    Asked of the database: the build in hand was read before its `fetch` was done.
    """
    done = build.steps.filter(name="fetch", state__in=[StepState.FINISHED, StepState.REUSED])
    result = done.values_list("result", flat=True).first()
    if not result:
        return {}
    fetched = FetchResult.model_validate(result)
    data_sets = filter(None, (fetched.calibration, fetched.evaluation, *fetched.tasks))
    return {data_set.dataset: data_set.revision for data_set in data_sets}


def _known(build: Build) -> Mapping[str, Any]:
    stored = secret_names(team=build.team)
    listed = Spec.model_validate(build.revision.spec).secret_names
    return {
        "secret_names": stored | {each for each in listed if normal_name(each) in stored},
        "secret_expiries": secret_expiries(team=build.team, names=listed),
        "devices": device_offers() or None,
    }
