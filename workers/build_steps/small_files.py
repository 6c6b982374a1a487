"""All files of a checkpoint but its weights, for steps that need its tokenizer alone."""

import logging
from dataclasses import replace

from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import fetch, resolve
from workers.build_steps.events import Events
from workers.build_steps.job import MODEL_FOLDER, Job

log = logging.getLogger(__name__)


def fetch_small_files(job: Job, checkpoint: CheckpointRepository, events: Events) -> str:
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
