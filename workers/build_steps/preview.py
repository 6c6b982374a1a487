"""Step `preview`: the first samples of a data set as a model will see them, before any build."""

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from controlplane.domain.facts import checkpoints
from controlplane.domain.spec import CheckpointRepository, Spec
from controlplane.sources import fetch, resolve
from workers.build_steps.calibration.dataset import Places
from workers.build_steps.calibration.preview import preview
from workers.build_steps.calibration.samples import SEED
from workers.build_steps.calibration.tokenizer import open_tokenizer
from workers.build_steps.events import Events
from workers.build_steps.failures import no_checkpoint
from workers.build_steps.job import MODEL_FOLDER, Job
from workers.build_steps.json_files import check_json_files
from workers.build_steps.step import StepResult

log = logging.getLogger(__name__)


def run(job: Job, events: Events) -> StepResult:
    """Return the samples, what was passed over, and how a build would draw: no weight is read."""
    spec = Spec.model_validate(job.spec)
    if spec.checkpoint is None:
        raise no_checkpoint()
    commit = _fetch_small_files(job, spec.checkpoint, events)
    folder = job.output / MODEL_FOLDER
    check_json_files(folder, spec.checkpoint.repo)
    wanted = spec.engine_build.quantization_config
    max_length = min(wanted.calib_max_seq_length, _positions(folder) or wanted.calib_max_seq_length)
    found = preview(
        wanted.calib_dataset,
        open_tokenizer(folder),
        places=Places.of_job(spec, job.options, job.secrets),
        max_length=max_length,
    )
    drawn = {"size": spec.calibration_samples, "max_length": max_length, "seed": SEED}
    return StepResult(values={**found.to_json(), **drawn, "commit": commit})


def _fetch_small_files(job: Job, checkpoint: CheckpointRepository, events: Events) -> str:
    """Fetch all but the weights, and return the commit."""
    options = job.options.sources()
    token = job.secrets.get(checkpoint.runtime_secret_name)

    def show(done: int, total: int | None) -> None:
        events.progress(done, total, "bytes")

    resolved = resolve(checkpoint, token=token, options=options, on_progress=show)
    small = tuple(each for each in resolved.files if not each.path.endswith(".safetensors"))
    log.info("%s: %d small files", resolved.commit, len(small))
    fetch(
        replace(resolved, files=small),
        job.output / MODEL_FOLDER,
        token=token,
        options=options,
        on_progress=show,
    )
    return resolved.commit


def _positions(folder: Path) -> int | None:
    """Return how many positions the model knows."""
    config: dict[str, Any] = json.loads((folder / "config.json").read_bytes())
    return checkpoints.read(config).max_positions
