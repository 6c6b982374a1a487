"""Step `package`: the files and their passport, into the artifact store."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from controlplane.artifacts import (
    FileEntry,
    content_digest,
    input_digest,
)
from controlplane.domain.failures import Failure
from controlplane.domain.spec import Spec
from workers.build_steps import outputs
from workers.build_steps.earlier import fetched
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure
from workers.build_steps.inputs import build_inputs
from workers.build_steps.job import MODEL_FOLDER, Job
from workers.build_steps.model_files import counting, hash_again, refuse_unmeasured
from workers.build_steps.step import StepResult

_QUANTIZATION = (
    "quantization_type", "modelopt_configs", "quant_algo", "kv_cache_dtype", "kv_cache_layers",
    "layers_quantized", "quantized", "layers_left", "left", "device", "compute_dtype", "seconds",
    "peak_host_bytes", "peak_device_bytes",
)  # fmt: skip
_OF_SOME_TYPES = ("smoothed", "effective_bits", "layers_by_number", "kept_in_16_bits")

log = logging.getLogger(__name__)


def run(job: Job, events: Events) -> StepResult:
    """Return both digests, the list of files and the passport of what is now published."""
    step = _made_by(job)
    model = job.input(step) / MODEL_FOLDER
    files = hash_again(job, step, events)
    if step == "calibrate":
        refuse_unmeasured(files, job.input("gate"))
    inputs = build_inputs(job.spec, fetched(job))
    passport = _passport(job, files, inputs)
    store = job.store()
    # Links: the step's folder is ours, and nobody writes to it again.
    published = store.publish(
        model, passport, files=files, link=True, on_bytes=counting(files, events)
    )
    log.info(
        "published %s, %d files%s",
        published.content_digest,
        len(published.files),
        " (the store had them)" if published.reused else "",
    )
    (job.output / "passport.json").write_text(json.dumps(passport, indent=1))
    return StepResult(
        values={
            "content_digest": published.content_digest,
            "input_digest": passport["input_digest"],
            "size_bytes": published.size_bytes,
            "manifest": [asdict(each) for each in published.files],
            "passport": passport,
            "inputs": inputs,
        }
    )


def _made_by(job: Job) -> str:
    """Return the step whose model is packaged; a quantized one must have passed the gate."""
    if Spec.model_validate(job.spec).quantization_type.is_none:
        return "fetch"
    gate = outputs.read(job.input("gate")).values
    if gate["state"] == "failed" and not job.options.promoted:
        raise StepFailure(Failure.from_json(gate["failure"]))
    return "calibrate"


def _passport(job: Job, files: tuple[FileEntry, ...], inputs: Mapping[str, Any]) -> dict[str, Any]:
    inspected = outputs.read(job.input("inspect")).values
    quantized = outputs.read(job.input("calibrate")).values if "calibrate" in job.inputs else {}
    gate = outputs.read(job.input("gate")).values if "gate" in job.inputs else "unmeasured"
    repository: Mapping[str, Any] = job.spec["trt_llm"]["build"]["checkpoint_repository"]
    return {
        "format": 1,
        "content_digest": content_digest(files),
        "input_digest": input_digest(inputs),
        "checkpoint": {
            "source": repository["source"],
            "repo": repository["repo"],
            "revision": repository.get("revision"),
            "commit": inputs["commit"],
        },
        "files": [asdict(each) for each in files],
        "spec": job.spec,
        "effective": [
            *inspected["examination"]["effective"],
            *quantized.get("effective", ()),
        ],
        "adapters": inputs.get("adapters") or [],
        "weights": inspected.get("weights"),
        "calibration": quantized.get("calibration"),
        "quantization": _quantization(quantized) if quantized else None,
        "gate": gate,
        "promoted": job.options.promoted and job.options.promoted.model_dump(),
        "remote_code": _remote_code(inspected, inputs),
        "tools": inputs["tool_versions"],
        "built": {
            "build_id": job.build_id,
            "attempt": job.attempt,
            "by": job.options.built_by,
            "at": job.options.built_at,
        },
    }


def _quantization(calibrated: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was quantized, with what only some types have."""
    quantization = {name: calibrated[name] for name in _QUANTIZATION}
    return quantization | {name: calibrated[name] for name in _OF_SOME_TYPES if name in calibrated}


def _remote_code(inspected: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return whose Python the artifact runs and who let it; None for one that runs none."""
    remote_code = inspected.get("remote_code") or {}
    if not remote_code.get("runs"):
        return None
    return {
        "commit": inputs["commit"],
        "grant": remote_code["grant"],
        "files": remote_code["files"],
    }
