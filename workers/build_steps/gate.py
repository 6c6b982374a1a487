"""Step `gate`: what quantization cost, on text that it has not seen."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.facts.quantization import smallest_exported
from controlplane.domain.failures.registry import gate as gate_kinds
from controlplane.domain.spec import Spec
from controlplane.domain.spec.enginehouse_settings import Gate
from workers.build_steps import outputs
from workers.build_steps.calibration.dataset import OpenDataset, Places
from workers.build_steps.calibration.samples import SAMPLES_FILE, draw_unseen
from workers.build_steps.earlier import fetched
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import blocks, packed, verdicts
from workers.build_steps.gating.calibrated import (
    Expected,
    compare_with_calibration,
    expected_scales,
)
from workers.build_steps.gating.comparing import Models, compare_encoders, compare_generators
from workers.build_steps.gating.declaration import check_declaration
from workers.build_steps.gating.descriptions import check_descriptions
from workers.build_steps.gating.originals import compare_with_original
from workers.build_steps.gating.scales import check_scales
from workers.build_steps.gating.served import served_dtype
from workers.build_steps.gating.tasks.doing import Doing
from workers.build_steps.gating.tasks.harness import harness_version
from workers.build_steps.gating.tasks.opening import open_tasks, refuse_change
from workers.build_steps.gating.verdicts import Verdict
from workers.build_steps.job import MODEL_FOLDER, Job
from workers.build_steps.model_files import hash_again, note_measured
from workers.build_steps.quantization.checkpoint import Checkpoint, open_checkpoint
from workers.build_steps.quantization.exported import Exported, read_export
from workers.build_steps.quantization.loading import device_of, load_tokenizer
from workers.build_steps.quantization.memory import (
    check_host_memory,
    comparison_bytes,
    peak_device_bytes,
    peak_host_bytes,
)
from workers.build_steps.quantization.smoothing import read_smoothing
from workers.build_steps.step import StepResult
from workers.build_steps.time_left import Pace

_EVALUATION_SAMPLES = 64
_WORST = 3
_HEAD_LETTERS = 200

log = logging.getLogger(__name__)


def run(job: Job, events: Events, *, clock: Clock = SYSTEM) -> StepResult:
    """Return how the exported files differ from the original, and whether that is too much.

    A result over a limit is a result too, with `state` failed and the failure beside it: its
    figures are shown, and someone may promote it anyway. Files that no engine should ever load
    raise StepFailure instead.
    """
    started = clock.monotonic()
    spec = Spec.model_validate(job.spec)
    gate = spec.settings.gate
    calibrated = outputs.read(job.input("calibrate")).values
    result: dict[str, Any] = {
        "limits": _limits(gate),
        # They are added to what is measured here, and are not quantized.
        "adapters_left_out": sorted(spec.engine_build.lora_adapters or {}),
        **_who_ran_it(calibrated),
    }
    original = open_checkpoint(
        job.input("fetch") / MODEL_FOLDER, served_as_encoder=spec.base_model.is_encoder, job=job
    )
    exported = job.input("calibrate") / MODEL_FOLDER
    # Before anything is read: what changes from here on is another file than the noted one.
    result["content_digest"] = note_measured(hash_again(job, "calibrate", events), job.output)
    export = read_export(exported)
    expected = expected_scales(job.input("calibrate"), export.quant_config)
    result |= _check_files(original, exported, export, calibrated, expected)
    if reason := _why_unmeasured(gate, export):
        log.info("gate unmeasured: %s", reason)
        return StepResult(values={"state": "unmeasured", "reason": reason, **result})
    verdict = _measure(job, gate, original, exported, result, events, clock)
    failure = verdict.failure
    log.info("gate %s: %s", verdict.state, failure or verdict.reason or result["figures"])
    return StepResult(
        values={
            "state": verdict.state,
            "reason": verdict.reason,
            "failure": failure.failure.to_json() if failure else None,
            **result,
            "seconds": round(clock.monotonic() - started, 2),
            "peak_host_bytes": peak_host_bytes(),
            "peak_device_bytes": peak_device_bytes(),
        }
    )


def _check_files(
    original: Checkpoint,
    exported: Path,
    export: Exported,
    calibrated: Mapping[str, Any],
    expected: Expected | None,
) -> dict[str, Any]:
    """Return what was counted; raises StepFailure for files that no engine should load."""
    if export.is_packed:
        counts = packed.check_scales(exported)
        packed.check_declaration(exported, export, calibrated)
        check_descriptions(original, exported)
        comparison = packed.compare_with_original(
            original.folder, exported, read_smoothing(exported.parent)
        )
        return {"scales": counts, "weights": comparison.to_json()}
    if export.is_in_blocks:
        counts = blocks.check_scales(exported)
        blocks.check_declaration(exported, export)
        check_descriptions(original, exported)
        compared = blocks.compare_with_original(original.folder, exported)
        return {"scales": counts, "weights": compared.to_json()}
    scales = check_scales(exported, export.quant_config, expected)
    check_declaration(exported, export, calibrated)
    check_descriptions(original, exported)
    return {
        "scales": scales.counts,
        "calibrated": compare_with_calibration(scales.values, expected).to_json(),
        "weights": compare_with_original(original.folder, exported).to_json(),
    }


def _why_unmeasured(gate: Gate, export: Exported) -> str:
    """Return the sentence that says why nothing is measured; empty where something is."""
    if not gate.enabled:
        return "`enginehouse.gate.enabled` is false, so nothing was measured."
    if export.stacked:
        return (
            f"`{export.stacked[0]}` holds a layer's experts as one tensor, which is not emulated, "
            "and no GPU here runs it: what quantization cost is not known."
        )
    return ""


def _limits(gate: Gate) -> dict[str, float]:
    return {
        "max_perplexity_increase": gate.max_perplexity_increase,
        "max_logit_drift_nats": gate.max_logit_drift_nats,
        "min_same_choice": gate.min_same_choice,
        "max_agreement_loss": gate.max_agreement_loss,
    }


def _who_ran_it(calibrated: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands behind the figures: no hardware here computes in these numbers."""
    number = smallest_exported(calibrated["quant_algo"])
    is_computed = number is None or number.is_computed_here
    return {
        "measured_by": "emulation of the exported files",
        "runs_here": is_computed,
        "note": None
        if is_computed
        else f"No GPU here has run {number.label if number else 'these'} weights: the figures are "
        "emulated, and nothing here has run this artifact.",
    }


def _measure(
    job: Job,
    gate: Gate,
    original: Checkpoint,
    exported: Path,
    result: dict[str, Any],
    events: Events,
    clock: Clock,
) -> Verdict:
    """Add the figures to `result`; return what they amount to."""
    spec = Spec.model_validate(job.spec)
    device = device_of(job.options)
    device.prepare()
    dtype = served_dtype(spec, original, device)
    result["compute_dtype"] = str(dtype).removeprefix("torch.")
    if device.kind == "cpu":
        limit = job.options.memory_bytes
        check_host_memory(
            comparison_bytes(spec, original, dtype, device.batch_tokens),
            limit=int(limit) if limit else None,
            what="Measuring the quantized model",
        )
    tokenizer = load_tokenizer(original)
    tasks = open_tasks(job)
    refuse_change(tasks, fetched(job).tasks)
    samples, result["evaluation"] = _samples(job, gate, tokenizer)
    models = Models(
        original=original, exported=exported, device=device, dtype=dtype,
        rerank_template=spec.settings.rerank_template,
    )  # fmt: skip
    step = _counted(events, 2 * len(samples), clock)
    if original.is_encoder:
        encoded = compare_encoders(models, samples, step)
        result["kind"], result["figures"] = "encoder", encoded.to_json()
        result["worst"] = _worst(samples, tokenizer, [-each for each in encoded.cosines], "cosine")
        return Verdict(failure=verdicts.of_encoder(encoded, gate))
    doing = Doing(tasks=tasks, tokenizer=tokenizer, max_length=spec.max_seq_len, events=events)
    generated, done = compare_generators(models, samples, step, doing)
    result["kind"], result["figures"] = "generation", generated.to_json()
    result["worst"] = _worst(samples, tokenizer, generated.ratios, "perplexity_ratio")
    if done:
        result["harness"], result["tasks"] = harness_version(), [each.to_json() for each in done]
    if generated.original_guesses:
        repository = spec.engine_build.checkpoint_repository
        named = repository.repo if repository else original.architecture
        return Verdict(reason=verdicts.why_unmeasured(generated, named))
    return Verdict(failure=verdicts.of_generation(generated, gate) or verdicts.of_tasks(done))


def _samples(job: Job, gate: Gate, tokenizer: Any) -> tuple[list[Sequence[int]], dict[str, Any]]:
    """Return token rows that were not calibrated on, and where they are from."""
    folder = job.input("calibrate")
    stored = json.loads((folder / SAMPLES_FILE).read_bytes())
    calibration = outputs.read(folder).values["calibration"]
    if gate.evaluation_dataset is None:
        rows = [each["tokens"] for each in stored["held_out"]]
        about = {name: calibration[name] for name in ("dataset", "config", "split", "revision")}
        return rows, {**about, "held_out": True, "samples": len(rows)}
    places = Places.of_job(Spec.model_validate(job.spec), job.options, job.secrets)
    dataset = OpenDataset(gate.evaluation_dataset, places)
    dataset.refuse_change(fetched(job).evaluation)
    samples, counts = draw_unseen(
        dataset,
        tokenizer,
        size=_EVALUATION_SAMPLES,
        max_length=calibration["max_length"],
        used=frozenset(stored["used_keys"]),
    )
    if not samples:
        raise StepFailure.of(gate_kinds.NO_SAMPLES, name=gate.evaluation_dataset)
    about = {**dataset.identity.model_dump(), "held_out": False, "samples": len(samples)}
    return [each.tokens for each in samples], {**about, **counts.to_json()}


def _worst(
    samples: Sequence[Sequence[int]], tokenizer: Any, badness: Sequence[float], name: str
) -> list[dict[str, Any]]:
    """Return the samples that lost most, with the head of each text; pages must escape it."""
    order = sorted(range(len(samples)), key=lambda place: -badness[place])[:_WORST]
    return [
        {
            name: round(abs(badness[place]), 6),
            "tokens": len(samples[place]),
            "text": tokenizer.decode(samples[place])[:_HEAD_LETTERS],
        }
        for place in order
    ]


def _counted(events: Events, total: int, clock: Clock) -> Callable[[], None]:
    """Return what is called after each sample of either model."""
    pace, done = Pace(total, clock=clock), 0
    events.progress(0, total, "samples")

    def step() -> None:
        nonlocal done
        done += 1
        events.progress(done, total, "samples", seconds_left=pace.seconds_left(done))

    return step
