"""Step `preview`: the first samples of a data set as a model will see them, before any build."""

import json
from pathlib import Path
from typing import Any

from controlplane.domain.facts import checkpoints
from controlplane.domain.failures.registry import build
from controlplane.domain.spec import Spec
from workers.build_steps.calibration.dataset import Places
from workers.build_steps.calibration.preview import preview
from workers.build_steps.calibration.samples import SEED
from workers.build_steps.calibration.tokenizer import open_tokenizer
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import MODEL_FOLDER, Job
from workers.build_steps.json_files import check_json_files
from workers.build_steps.small_files import fetch_small_files
from workers.build_steps.step import StepResult


def run(job: Job, events: Events) -> StepResult:
    """Return the samples, what was passed over, and how a build would draw: no weight is read."""
    spec = Spec.model_validate(job.spec)
    if spec.checkpoint is None:
        raise StepFailure.of(build.NO_CHECKPOINT)
    commit = fetch_small_files(job, spec.checkpoint, events)
    folder = job.output / MODEL_FOLDER
    check_json_files(folder, spec.checkpoint.repo)
    settings = spec.engine_build.quantization_config
    max_length = min(
        settings.calib_max_seq_length, _positions(folder) or settings.calib_max_seq_length
    )
    samples = preview(
        settings.calib_dataset,
        open_tokenizer(folder),
        places=Places.of_job(spec, job.options, job.secrets),
        max_length=max_length,
    )
    drawn = {"size": spec.calibration_samples, "max_length": max_length, "seed": SEED}
    return StepResult(values={**samples.to_json(), **drawn, "commit": commit})


def _positions(folder: Path) -> int | None:
    config: dict[str, Any] = json.loads((folder / "config.json").read_bytes())
    return checkpoints.read(config).max_positions
