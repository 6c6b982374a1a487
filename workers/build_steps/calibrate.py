"""Step `calibrate`: samples through the model, then weights and KV cache in fewer bits."""

import json
import logging
from typing import Any

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.facts.quantization import Number
from controlplane.domain.failures import fields
from controlplane.domain.failures.registry import quantization
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import QuantizationType
from workers.build_steps.adapters import carry_adapters
from workers.build_steps.calibration.dataset import OpenDataset, Places
from workers.build_steps.calibration.preview import shown_samples
from workers.build_steps.calibration.samples import SAMPLES_FILE, SEED, SampleSet, draw, sample_keys
from workers.build_steps.earlier import fetched
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import MODEL_FOLDER, Job
from workers.build_steps.quantization import failures
from workers.build_steps.quantization.amax import by_scale, largest_seen, write_amax
from workers.build_steps.quantization.block_scales import refuse_odd_inputs
from workers.build_steps.quantization.calibrating import NothingToQuantizeError, calibrate
from workers.build_steps.quantization.checkpoint import (
    Checkpoint,
    open_checkpoint,
    refuse_quantized,
)
from workers.build_steps.quantization.encoder_layers import keep_layers, keeps_layers
from workers.build_steps.quantization.export import export
from workers.build_steps.quantization.exported import Exported, packed_modules
from workers.build_steps.quantization.groups import choose_group
from workers.build_steps.quantization.loading import (
    Device,
    choose_dtype,
    device_of,
    export_dtype,
    load_model,
    load_tokenizer,
)
from workers.build_steps.quantization.memory import (
    calibration_bytes,
    check_host_memory,
    peak_device_bytes,
    peak_host_bytes,
)
from workers.build_steps.quantization.modelopt import presets
from workers.build_steps.quantization.recipes import (
    ModelOptConfig,
    Recipe,
    find_recipe,
    modelopt_config,
)
from workers.build_steps.quantization.renaming import class_names
from workers.build_steps.quantization.sensitivity import Kept
from workers.build_steps.quantization.smoothing import (
    Smoothing,
    move_smoothing,
    write_smoothing,
)
from workers.build_steps.quantization.within_budget import (
    algorithms_of,
    declared_patterns,
    within_budget,
    without_excluded,
)
from workers.build_steps.step import StepResult
from workers.build_steps.versions import tool_versions

log = logging.getLogger(__name__)


def run(job: Job, events: Events, *, clock: Clock = SYSTEM) -> StepResult:
    """Return what was quantized and on which text; the checkpoint lies in `model`.

    1. Refuse what cannot work before any time is spent on it: type, checkpoint, memory.
    2. Draw the samples; those that are held out are kept for the gate.
    3. Load, calibrate, export, and check the export.
    """
    started = clock.monotonic()
    spec = Spec.model_validate(job.spec)
    recipe = find_recipe(spec.quantization_type)
    checkpoint = open_checkpoint(
        job.input("fetch") / MODEL_FOLDER, served_as_encoder=spec.base_model.is_encoder, job=job
    )
    refuse_quantized(checkpoint, spec.quantization_type.value)
    device = device_of(job.options)
    device.prepare()
    dtype = choose_dtype(spec, checkpoint, device)
    if device.kind == "cpu":
        needed = calibration_bytes(spec, checkpoint, dtype, device.batch_tokens)
        check_host_memory(needed, limit=job.options.memory_bytes, what="Calibration")

    tokenizer = load_tokenizer(checkpoint)
    samples, drawing = _draw(job, spec, checkpoint, tokenizer)
    config = modelopt_config(
        recipe,
        presets,
        has_kv_cache=checkpoint.has_kv_cache,
        is_encoder=checkpoint.is_encoder,
    )
    chosen, config = within_budget(
        spec,
        checkpoint,
        config,
        [each.tokens for each in samples.calibration],
        device,
        dtype,
        lambda done, total: events.progress(done, total, "search steps"),
    )
    exported, smoothing, kept = _quantize(
        job, checkpoint, recipe.number, config, samples, device, dtype, events, clock
    )
    _check_export(spec, recipe, checkpoint, exported)
    return StepResult(
        values={
            **_effective(spec.quantization_type, recipe, config, checkpoint, exported),
            **(smoothing.to_json() if smoothing else {}),
            **(chosen.to_json() if chosen else {}),
            **({"kept_in_16_bits": kept.to_json()} if kept else {}),
            "calibration": drawing,
            "samples": shown_samples(samples.calibration[: drawing["used"]], tokenizer),
            "device": device.describe(),
            "compute_dtype": str(dtype).removeprefix("torch."),
            "tools": tool_versions(),
            "seconds": round(clock.monotonic() - started, 2),
            "peak_host_bytes": peak_host_bytes(),
            "peak_device_bytes": peak_device_bytes(),
            "model_dir": MODEL_FOLDER,
        }
    )


def _draw(
    job: Job, spec: Spec, checkpoint: Checkpoint, tokenizer: Any
) -> tuple[SampleSet, dict[str, Any]]:
    """Return the samples and what is told of them; the held-out ones go into a file."""
    settings = spec.engine_build.quantization_config
    size = spec.calibration_samples
    max_length = min(
        settings.calib_max_seq_length,
        checkpoint.facts.max_positions or settings.calib_max_seq_length,
    )
    dataset = OpenDataset(settings.calib_dataset, Places.of_job(spec, job.options, job.secrets))
    dataset.refuse_change(fetched(job).calibration)
    samples = draw(dataset, tokenizer, size=size, max_length=max_length)
    if keeps_layers(spec, checkpoint):
        samples = samples.divided()
    is_run = spec.quantization_type.precision.weights.modelopt_passes > 0
    used = samples.calibration if is_run else []
    drawing = {
        **dataset.identity.model_dump(),
        "column": samples.column,
        # What the config asks for and what holds here: a model has only so many positions.
        "size_asked": size,
        "max_length_asked": settings.calib_max_seq_length,
        "max_length": max_length,
        "used": len(used),
        "tokens": sum(len(each.tokens) for each in used),
        "held_out": len(samples.held_out),
        **samples.counts.to_json(),
        "seed": SEED,
    }
    (job.output / SAMPLES_FILE).write_text(
        json.dumps(
            {
                "used_keys": sample_keys([*samples.calibration, *samples.chosen_on]),
                "held_out": [{"row": each.row, "tokens": each.tokens} for each in samples.held_out],
            }
        )
    )
    log.info(
        "%s: %d of %d samples, up to %d tokens; %d held out (%s)",
        settings.calib_dataset,
        len(samples.calibration),
        size,
        max_length,
        len(samples.held_out),
        samples.counts.in_words(),
    )
    return samples, drawing


def _quantize(
    job: Job,
    checkpoint: Checkpoint,
    number: Number,
    config: ModelOptConfig,
    samples: SampleSet,
    device: Device,
    dtype: torch.dtype,
    events: Events,
    clock: Clock,
) -> tuple[Exported, Smoothing | None, Kept | None]:
    torch.manual_seed(SEED)
    log.info("loading %s as %s on %s", checkpoint.architecture, dtype, device.describe())
    model = load_model(checkpoint, device=device, dtype=dtype)
    if any(isinstance(each, Conv1D) for each in model.modules()):
        raise StepFailure.of(quantization.TRANSPOSED, architecture=checkpoint.architecture)
    spec = Spec.model_validate(job.spec)
    config = without_excluded(spec, model, checkpoint, config)
    if number.groups:
        config = _with_group(job, model, config, number)
    if number.block:
        refuse_odd_inputs(model, config, number)
    try:
        quantized = calibrate(
            model,
            config,
            [each.tokens for each in samples.calibration],
            device=device,
            on_samples=lambda done, total, left: events.progress(
                done, total, "samples", seconds_left=left
            ),
            passes=number.modelopt_passes,
            clock=clock,
        )
    except NothingToQuantizeError as error:
        quantization_type = job.spec["trt_llm"]["build"]["quantization_type"]
        raise StepFailure.of(
            quantization.NOTHING, wanted=quantization_type, architecture=checkpoint.architecture
        ) from error
    kept = keep_layers(spec, checkpoint, quantized, samples.chosen_on, device, dtype, events)
    smoothing = None
    if number.is_packed:
        smoothing = move_smoothing(
            quantized, samples.calibration[0].tokens, export_dtype(checkpoint)
        )
    log.info("exporting")
    seen, named = largest_seen(quantized), class_names(quantized)
    exported = export(
        quantized,
        checkpoint,
        job.output / MODEL_FOLDER,
        number=number,
        excluded=[*declared_patterns(spec), *(kept.layers if kept else ())],
    )
    if smoothing is not None:
        modules = packed_modules(job.output / MODEL_FOLDER)
        write_smoothing(job.output, smoothing, modules, named)
    write_amax(job.output, by_scale(seen, job.output / MODEL_FOLDER, named))
    carry_adapters(job.input("fetch") / MODEL_FOLDER, job.output / MODEL_FOLDER)
    return exported, smoothing, kept


def _with_group(
    job: Job, model: nn.Module, config: ModelOptConfig, number: Number
) -> ModelOptConfig:
    """Return the config with the group that fits; raises StepFailure for weights on the host."""
    if any(each.is_meta for each in model.parameters()):
        raise failures.no_device_memory("INT4 needs all weights on the GPUs at once", 1)
    ranks = Spec.model_validate(job.spec).tensor_parallel
    return config.with_group(choose_group(model, config, number.groups, ranks=ranks))


def _check_export(spec: Spec, recipe: Recipe, checkpoint: Checkpoint, exported: Exported) -> None:
    """Raise StepFailure unless the files hold what the type promises."""
    quantization_type = spec.quantization_type.value
    if not exported.quantized_count:
        raise StepFailure.of(
            quantization.NOTHING, wanted=quantization_type, architecture=checkpoint.architecture
        )
    algorithm = exported.quant_config.get("quant_algo")
    if algorithm not in algorithms_of(spec):
        raise StepFailure.of(quantization.EXPORT, reason=f"quant_algo is `{algorithm}`")
    kv_layers = checkpoint.kv_layers if recipe.kv_cache else 0
    if exported.kv_layers != kv_layers:
        raise StepFailure.of(
            quantization.EXPORT,
            reason=f"{exported.kv_layers} layers have scales for their KV cache where {kv_layers} "
            "should",
        )


def _effective(
    quantization_type: QuantizationType,
    recipe: Recipe,
    config: ModelOptConfig,
    checkpoint: Checkpoint,
    exported: Exported,
) -> dict[str, Any]:
    """Return what was made of the type, and where that is not what its name says."""
    ignored = recipe.kv_cache and not checkpoint.has_kv_cache
    return {
        "quantization_type": quantization_type.value,
        "modelopt_configs": list(config.names),
        "quant_algo": exported.quant_config["quant_algo"],
        "kv_cache_dtype": "fp8" if exported.kv_layers else "16-bit",
        "kv_cache_layers": exported.kv_layers,
        "layers_quantized": exported.quantized_count,
        "quantized": exported.quantized,
        "layers_left": sum(exported.left.values()),
        "left": exported.left,
        "effective": [
            {
                "field": fields.QUANTIZATION,
                "asked": quantization_type.value,
                "effective": quantization_type.precision.with_plain_kv,
                "reason": "This model keeps no KV cache, so there is none to quantize.",
            }
        ]
        if ignored
        else [],
    }
