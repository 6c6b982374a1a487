"""The process of one step: `python -m workers.build_steps STEP --job JOB.json …`."""

import argparse
import importlib
import logging
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from controlplane.artifacts import ArtifactFailure
from controlplane.artifacts.durable import means_disk_full
from controlplane.collecting import without_collecting
from controlplane.domain.failures import Failure
from controlplane.sources import SourceFailure
from workers.build_steps import lifeline, outputs
from workers.build_steps.crashes import told_apart
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure, disk_full
from workers.build_steps.host_summary import host_summary
from workers.build_steps.job import Job, read_job
from workers.build_steps.processes import memory_of
from workers.build_steps.step import StepResult
from workers.filled_pipe import read_pipe
from workers.gates import pass_gate
from workers.imports import import_tokenizers, import_transformers

STEPS = (
    "fetch", "inspect", "calibrate", "gate", "package", "smoke_test", "preview", "push",
    "benchmark", "tune_lookahead",
)  # fmt: skip
_COMPUTING_STEPS = ("calibrate", "gate")
_TOKENIZING_STEPS = ("preview", "tune_lookahead")
EXIT_FAILED = 1

log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Run one step; return 0 after a result, 1 after a failure event."""
    options = _parser().parse_args(arguments)
    if options.lifeline_fd is not None:
        lifeline.hold(options.lifeline_fd)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr
    )
    # The hub's client logs each request at this level; the step says the same in fewer words.
    for library in ("httpx2", "httpx"):
        logging.getLogger(library).setLevel(logging.WARNING)
    events = Events(options.events_fd)
    job = read_job(options.job).with_secrets(read_pipe(options.secrets_fd))
    job = job.with_store_variables(read_pipe(options.store_fd))
    failure = _run(options.step, job, events)
    events.peak(memory_of(os.getpid()).get("VmHWM", 0))
    if failure is None:
        return 0
    log.error("%s: %s", failure.code, failure.sentence)
    events.failure(failure)
    return EXIT_FAILED


def _prepare_libraries(step: str) -> None:
    """Import what the step stands on for less than it would be by itself."""
    if step in _COMPUTING_STEPS:
        import_transformers(spreads_over_devices=True)
    elif step in _TOKENIZING_STEPS:
        import_tokenizers()


def _run(step: str, job: Job, events: Events) -> Failure | None:
    """Return why the step failed; an unforeseen error goes on to end the process."""
    try:
        events.progress(0, None, "steps")
        pass_gate(step)
        # What a killed try left here must not be sealed into this one's output.
        shutil.rmtree(job.output, ignore_errors=True)
        job.output.mkdir(parents=True)
        # A checkpoint's code that may run is imported from a folder of this step alone.
        os.environ["HF_MODULES_CACHE"] = str(job.output.with_name(f".modules{job.output.name}"))
        log.info("on %s", host_summary(job.output))
        with without_collecting():
            _prepare_libraries(step)
            module = importlib.import_module(f"workers.build_steps.{step}")
        result: StepResult = module.run(job, events)
        outputs.seal(job.output, step=step, values=result.values, digests=result.digests)
        events.result(result.values)
    except (StepFailure, SourceFailure, ArtifactFailure) as error:
        return told_apart(error.failure, error.__cause__, step, job.spec)
    except OSError as error:
        if means_disk_full(error):
            return disk_full(job.output_dir)
        raise
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.build_steps", allow_abbrev=False)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--job", type=Path, required=True)
    parser.add_argument("--events-fd", type=int, required=True)
    parser.add_argument("--lifeline-fd", type=int)
    parser.add_argument("--secrets-fd", type=int)
    parser.add_argument("--store-fd", type=int)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
