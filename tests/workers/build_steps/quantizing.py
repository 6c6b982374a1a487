"""The quantizing steps in this process, on checkpoints that are made where they are needed."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from torch import Tensor

from tests.workers.build_steps.supervising import spec_of
from workers.build_steps import calibrate, fetch, gate, inspect, outputs, package, smoke_test
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import Job
from workers.build_steps.step import StepResult

MODULES: Mapping[str, Any] = {
    "fetch": fetch,
    "inspect": inspect,
    "calibrate": calibrate,
    "gate": gate,
    "package": package,
    "smoke_test": smoke_test,
}
CALIBRATION = {
    "calib_dataset": "enginehouse/general",
    "calib_size": 64,
    "calib_max_seq_length": 64,
}
SAMPLES = 16


def quantized_spec(folder: Path, quantization_type: str, **build: Any) -> dict[str, Any]:
    """Return a spec that calibrates on 16 samples of the shipped set."""
    given = {"quantization_config": CALIBRATION, "samples": SAMPLES, **build}
    return spec_of(str(folder), quantization_type=quantization_type, **given)


def fetched(folder: Path, into: Path) -> Path:
    """Return a published fetch step that holds the checkpoint."""
    shutil.copytree(folder, into / "model")
    outputs.seal(into, step="fetch", values={"commit": "c1", "calibration": None}, digests={})
    return into


def run_here(
    step: str, spec: Mapping[str, Any], folder: Path, options: dict[str, Any] | None = None,
    **inputs: Path,
) -> StepResult:  # fmt: skip
    """Run a step in this process and seal its output in `folder`."""
    folder.mkdir(parents=True)
    job = Job(
        build_id="b1",
        attempt=1,
        spec=spec,
        inputs={name: str(path) for name, path in inputs.items()},
        output_dir=str(folder),
        options={"cpu_threads": 1, **(options or {})},
    )
    descriptor = os.open(os.devnull, os.O_WRONLY)
    try:
        result: StepResult = MODULES[step].run(job, Events(descriptor))
    finally:
        os.close(descriptor)
    outputs.seal(folder, step=step, values=result.values, digests={})
    return result


def tensors_of(folder: Path) -> dict[str, Tensor]:
    """Return every tensor of an exported model."""
    return {
        name: each
        for path in folder.glob("*.safetensors")
        for name, each in load_file(path).items()
    }


def change_export(folder: Path, changes: Mapping[str, Tensor | None]) -> None:
    """Write an export anew with some tensors replaced, or removed where None."""
    tensors = tensors_of(folder) | {
        name: each for name, each in changes.items() if each is not None
    }
    kept = {name: each for name, each in tensors.items() if changes.get(name, each) is not None}
    (folder / "model.safetensors").unlink()
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    if (folder.parent / outputs.MANIFEST).exists():
        reseal(folder.parent)


def reseal(step_folder: Path) -> None:
    """Let an output that was changed be what its step published, as if it had made it so."""
    made = outputs.read(step_folder)
    outputs.seal(step_folder, step=made.step, values=made.values, digests={})


def read_json(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_bytes())
    return content


def inspected(folder: Path, checkpoint: dict[str, Any] | None = None) -> Path:
    """Return a published inspect step."""
    folder.mkdir(parents=True)
    values = {"checkpoint": checkpoint or {}, "examination": {"effective": []}}
    outputs.seal(folder, step="inspect", values=values, digests={})
    return folder


def refused(folder: Path, tmp_path: Path, spec: dict[str, Any], **options: Any) -> Any:
    """Return the failure that calibration ends with before it begins."""
    source = fetched(folder, tmp_path / "refused" / "fetch")
    with pytest.raises(StepFailure) as raised:
        run_here("calibrate", spec, tmp_path / "refused" / "out", options, fetch=source)
    return raised.value.failure
