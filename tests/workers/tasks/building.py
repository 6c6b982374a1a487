"""What tests of builds share: buildable revisions, and what a build looks like from outside."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apps.builds.models import Build
from apps.configs.models import Revision
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.spec import parse_text
from tests import factories
from workers.build_steps.child import OutcomeKind, StepCommand, StepOutcome, run_step

MakeBuild = Callable[..., Build]
QUANTIZED_STEPS = ("fetch", "inspect", "calibrate", "gate", "package", "smoke_test")
FP8 = """    quantization_type: fp8
    quantization_config:
      calib_dataset: enginehouse/general
      calib_size: 64
      calib_max_seq_length: 64
"""


def make_buildable(checkpoint: Path, *, added: str = "", **changes: Any) -> Revision:
    """A revision whose stored spec is what its text says; `added` goes under `trt_llm.build`."""
    text = factories.config_text(str(checkpoint)) + added
    spec = parse_text(text).spec
    assert spec is not None
    return factories.make_revision(
        repo=str(checkpoint), text=text, spec=spec.model_dump(mode="json"), **changes
    )


def make_quantized(
    make_build: MakeBuild, checkpoint: Path, *, added: str = "", **changes: Any
) -> Build:
    """A queued FP8 build of the tiny checkpoint, with its six steps."""
    revision = make_buildable(checkpoint, added=FP8 + added)
    return make_build(revision=revision, **changes)


def steps(build: Build) -> dict[str, str]:
    """Step -> state."""
    return dict(build.steps.values_list("name", "state"))


def breaking(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """Let that step end with a failure before it begins."""

    def run_or_break(command: StepCommand, **hooks: Any) -> StepOutcome:
        if command.step != broken:
            return run_step(command, **hooks)
        failure = Failure(code="EHB-BROKEN", blame=Blame.MACHINE, sentence="Broken here.")
        return StepOutcome(kind=OutcomeKind.FAILED, failure=failure)

    monkeypatch.setattr("workers.tasks.building.run.run_step", run_or_break)
