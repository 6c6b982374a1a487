"""Step `tune_lookahead`: what each lookahead setting would have drafted in recorded answers."""

from controlplane.domain.failures.registry import build, calibration
from controlplane.domain.lookahead_tuning.settings import LookaheadSetting
from controlplane.domain.spec import Spec
from workers.build_steps.calibration.dataset import OpenDataset, Places
from workers.build_steps.calibration.tokenizer import open_tokenizer
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import MODEL_FOLDER, Job
from workers.build_steps.json_files import check_json_files
from workers.build_steps.lookahead_tuning.exchanges import Exchange, Exchanges
from workers.build_steps.lookahead_tuning.simulation import Simulation
from workers.build_steps.small_files import fetch_small_files
from workers.build_steps.step import StepResult


def run(job: Job, events: Events) -> StepResult:
    """Return what was read, and what was counted of each setting: no weight is read."""
    spec, order = Spec.model_validate(job.spec), job.options.lookahead
    assert order is not None
    if spec.checkpoint is None:
        raise StepFailure.of(build.NO_CHECKPOINT)
    commit = fetch_small_files(job, spec.checkpoint, events)
    check_json_files(job.output / MODEL_FOLDER, spec.checkpoint.repo)
    rows, exchanges = _read(job, spec)
    settings = [LookaheadSetting.from_json(each) for each in order.settings]
    counted = _simulated(settings, order.device, exchanges, events)
    return StepResult(
        values={
            "commit": commit,
            "conversations": rows.conversations,
            "answers": len(exchanges),
            "prompt_tokens": sum(len(each.prompt) for each in exchanges),
            "answer_tokens": sum(len(each.answer) for each in exchanges),
            "counted": [each.counted().to_json() for each in counted],
        }
    )


def _read(job: Job, spec: Spec) -> tuple[Exchanges, list[Exchange]]:
    name = spec.engine_build.quantization_config.calib_dataset
    dataset = OpenDataset(name, Places.of_job(spec, job.options, job.secrets))
    opened = Exchanges(name, dataset, open_tokenizer(job.output / MODEL_FOLDER))
    exchanges = list(opened.read())
    if not exchanges:
        raise StepFailure.of(calibration.NOTHING_ANSWERED, name=name)
    return opened, exchanges


def _simulated(
    settings: list[LookaheadSetting], device: str, exchanges: list[Exchange], events: Events
) -> list[Simulation]:
    simulations = [Simulation(setting, device) for setting in settings]
    for done, exchange in enumerate(exchanges):
        events.progress(done, len(exchanges), "answers")
        for simulation in simulations:
            simulation.say(exchange)
    events.progress(len(exchanges), len(exchanges), "answers")
    return simulations
