"""Step `inspect`: the facts of what was really fetched, the rules on them, and its tensors."""

import logging
import os
from datetime import date

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.failures.registry import build
from controlplane.domain.rules import DeviceOffer, Known, examine
from controlplane.domain.rules.context import CodeGrant
from controlplane.domain.spec import Spec
from controlplane.sources import folder_facts
from workers.build_steps import remote_code
from workers.build_steps.calibration.kept import known_sets
from workers.build_steps.earlier import fetched
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure, blocked
from workers.build_steps.job import MODEL_FOLDER, Job
from workers.build_steps.json_files import check_json_files
from workers.build_steps.step import StepResult
from workers.build_steps.weights.checking import Weights, check
from workers.runtimes.named import named_runtimes

log = logging.getLogger(__name__)


def run(job: Job, events: Events) -> StepResult:
    """Return the checkpoint's facts and its examination; fail when that blocks the build."""
    spec = Spec.model_validate(job.spec)
    if spec.checkpoint is None:
        raise StepFailure.of(build.NO_CHECKPOINT)
    model = job.input("fetch") / MODEL_FOLDER
    facts = folder_facts(model, commit=fetched(job).commit, name=spec.checkpoint.repo)
    check_json_files(model, spec.checkpoint.repo)
    code = remote_code.look(job, model)
    events.progress(1, 3, "steps")
    examination = examine(
        spec,
        Known(
            checkpoint=facts,
            checkpoint_failure=None,
            secret_names=job.options.secret_names or frozenset(job.secrets),
            secret_expiries=job.options.secret_expiries,
            devices=_devices(job),
            runtimes=named_runtimes(os.environ),
            calibration_sets=known_sets(job.options),
            code_grants=_grants(job),
        ),
    )
    report = examination.to_json()
    events.progress(2, 3, "steps")
    for finding in report["findings"]:
        log.info("%s %s: %s", finding["severity"], finding["code"], finding["message"])
    if examination.blocks_build:
        raise blocked(report)
    weights = check(_weights(job, spec, facts))
    events.progress(3, 3, "steps")
    return StepResult(
        values={
            "checkpoint": facts.model_dump(mode="json"),
            "examination": report,
            "remote_code": code,
            "weights": weights,
        }
    )


def _weights(job: Job, spec: Spec, facts: CheckpointFacts) -> Weights:
    return Weights(
        folder=job.input("fetch") / MODEL_FOLDER,
        facts=facts,
        not_finite=fetched(job).not_finite,
        is_encoder=spec.base_model.is_encoder,
        ranks=spec.settings.rerank_template is not None,
        cache_dir=job.options.cache_dir,
    )


def _grants(job: Job) -> tuple[CodeGrant, ...]:
    return tuple(
        CodeGrant(commit=each.commit, by=each.by, on=date.fromisoformat(each.at[:10]))
        for each in job.options.remote_code.live
    )


def _devices(job: Job) -> tuple[DeviceOffer, ...]:
    """Return the GPUs that this build may count on; a worker that names none has its CPU."""
    if job.options.devices is not None:
        return job.options.devices
    return (DeviceOffer(kind="CPU", count=1, memory_bytes=job.options.memory_bytes or 0),)
