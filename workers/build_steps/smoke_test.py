"""Step `smoke_test`: start the published artifact once and ask it and each adapter something."""

import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.runtimes import RUNTIMES, Launch, Start
from controlplane.domain.spec import Spec
from workers.build_steps import outputs, remote_code
from workers.build_steps.adapter_questions import ask_adapters
from workers.build_steps.encoder_question import EncoderAnswer, ask_encoder
from workers.build_steps.engine_process import EngineProcess
from workers.build_steps.events import Events
from workers.build_steps.installed_runtime import installed_runtime
from workers.build_steps.job import Job
from workers.build_steps.pooling_question import ask_pooling
from workers.build_steps.processor import has_native_bfloat16
from workers.build_steps.question import ANSWER_TOKENS, QUESTION, ask
from workers.build_steps.step import StepResult
from workers.runtimes.container.failures import FILE_NAME
from workers.runtimes.container.launch import contained, model_in_container
from workers.runtimes.container.order import Mount
from workers.runtimes.installed import Installed
from workers.runtimes.ports import free_port
from workers.runtimes.standing_name import standing_name

_HOST = "127.0.0.1"
_START_SECONDS = 600.0
_WRITES = "generate"
"""The task of an engine that has no other."""
_STAGES = 3  # taken out of the store, started, answered

log = logging.getLogger(__name__)


def run(job: Job, events: Events) -> StepResult:
    """Return the answers, how fast they came, and what the engine reports of itself."""
    spec = Spec.model_validate(job.spec)
    launcher, installed = installed_runtime(spec.runtime_name, own_python=job.python)
    model = _take_out(job)
    events.progress(1, _STAGES, "steps")
    launch = _launch(job, spec, model, installed)
    with EngineProcess(
        launch,
        runtime=spec.runtime_name,
        host=_HOST,
        folder=job.output,
        # What is installed elsewhere does not look for its modules among this program's.
        working_folder=model.parent if installed.version else None,
        spec=job.spec,
    ) as engine:
        engine.wait_until_ready(job.options.engine_start_seconds or _START_SECONDS)
        events.progress(2, _STAGES, "steps")
        report = engine.report(launcher)
        answered = engine.guarded(lambda: _question_and_answer(job, spec, engine.url, report))
        adapters = engine.guarded(
            lambda: ask_adapters(
                spec,
                Path(_seen_at(job, spec, model, installed)),
                engine.url,
                has_chat_template=_chats(job),
            )
        )
    events.progress(3, _STAGES, "steps")
    log.info("answered %r", answered["answer"])
    shutil.rmtree(model.parent)
    return StepResult(values={**answered, "adapters": adapters, "engine": report})


def _question_and_answer(
    job: Job, spec: Spec, url: str, report: Mapping[str, Any]
) -> dict[str, Any]:
    """Return question and answer, timed: a sentence from a decoder, figures from an encoder."""
    if report.get("task", _WRITES) != _WRITES:
        return _encoded(ask_encoder(url, report))
    if spec.base_model.is_encoder:
        return _encoded(ask_pooling(url, CheckpointFacts.model_validate(_inspected(job))))
    answer = ask(url, has_chat_template=_chats(job))
    return {
        "kind": "generation",
        "question": QUESTION,
        "answer": answer.text,
        "finish_reason": answer.finish_reason,
        "max_tokens": ANSWER_TOKENS,
        "first_token_seconds": answer.first_token_seconds,
        "tokens_per_second": answer.tokens_per_second,
    }


def _encoded(answer: EncoderAnswer) -> dict[str, Any]:
    return {
        "kind": "encoder",
        "question": answer.question,
        "answer": answer.text,
        "answer_seconds": answer.seconds,
    }


def _take_out(job: Job) -> Path:
    return job.store().materialize(_digest(job), job.output / "model" / "files")


def _digest(job: Job) -> str:
    return str(outputs.read(job.input("package")).values["content_digest"])


def _launch(job: Job, spec: Spec, model: Path, installed: Installed) -> Launch:
    model_dir = _seen_at(job, spec, model, installed)
    start = Start(
        model_dir=model_dir,
        host=_HOST,
        port=free_port(_HOST),
        python=installed.python,
        threads=job.options.cpu_threads,
        memory_bytes=job.options.memory_bytes or 0,
        version=installed.version,
        # As its memory was asked for.
        computes_bfloat16=has_native_bfloat16(),
        runs_remote_code=remote_code.runs(job),
    )
    checkpoint = CheckpointFacts.model_validate(_inspected(job))
    launch = RUNTIMES[spec.runtime_name].render(spec, checkpoint, start)
    if installed.image is not None:
        shown = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        return contained(
            launch,
            installed.image,
            model=Mount(source=str(model), target=model_dir),
            folder=model.parent,
            gpus=[uuid for uuid in shown.split(",") if uuid],
            environment=os.environ,
            failure_file=model.parent / FILE_NAME,
            imports=installed.imports,
        )
    return replace(launch, environment={**launch.environment, **installed.environment})


def _seen_at(job: Job, spec: Spec, model: Path, installed: Installed) -> str:
    if installed.image is not None:
        return model_in_container(_digest(job))
    return standing_name(spec.runtime_name, model.parent, model, _digest(job))


def _chats(job: Job) -> bool:
    return bool(_inspected(job).get("has_chat_template"))


def _inspected(job: Job) -> Mapping[str, Any]:
    checkpoint: Mapping[str, Any] = outputs.read(job.input("inspect")).values["checkpoint"]
    return checkpoint
