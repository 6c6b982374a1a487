"""A disk that fills up while the quantized model is exported, and a retry once there is room."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from controlplane.domain.failures import Failure
from tests.small_disks import Grow, small_disk, small_files
from tests.workers.build_steps.quantizing import fetched, quantized_spec, tensors_of
from workers.build_steps import __main__ as step_process
from workers.build_steps import outputs
from workers.build_steps.events import Events
from workers.build_steps.job import Job

pytestmark = pytest.mark.engine


def calibrate(job: Job) -> Failure | None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    try:
        return step_process._run("calibrate", job, Events(descriptor))
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    "small",
    [
        pytest.param(lambda folder: small_disk(folder, size="60k"), id="a small disk"),
        pytest.param(lambda _folder: small_files(60_000), id="a limit on files"),
    ],
)
def test_an_export_without_room_is_told_as_a_full_disk_and_seals_nothing(
    tiny: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    small: Callable[[Path], AbstractContextManager[Grow]],
) -> None:
    # The step sets it, for a process that is otherwise its own.
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    source = fetched(tiny, tmp_path / "fetch")
    output = tmp_path / "disk" / "calibrate"
    job = Job(
        build_id="b1",
        attempt=1,
        spec=quantized_spec(tiny, "fp8"),
        inputs={"fetch": str(source)},
        output_dir=str(output),
        options={"cpu_threads": 1, "calibration_samples": 16},
    )
    with small(tmp_path / "disk") as larger:
        failure = calibrate(job)
        assert failure is not None
        assert (failure.code, failure.blame) == ("EHB-DISK-FULL", "machine")
        assert str(output) in failure.sentence
        assert not outputs.verify(output)
        larger()
        assert calibrate(job) is None
        assert outputs.verify(output)
        assert tensors_of(output / "model")
