import logging
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from apps.builds.artifacts.services import build_succeed
from apps.builds.models import Build
from apps.builds.services.progress import (
    build_enter,
    step_finish,
    step_refuse,
    step_reuse,
    step_start,
)
from apps.builds.services.reuse import build_explain_reuse
from controlplane.artifacts import ArtifactFailure, store_variables
from controlplane.domain.failures import Failure
from controlplane.domain.lifecycle import STEP_OF_STATE, BuildState, StepState
from controlplane.domain.spec import Spec
from controlplane.domain.step_results import FetchResult
from workers.build_steps import outputs
from workers.build_steps.calibration.kept import kept_files
from workers.build_steps.child import (
    OutcomeKind,
    StepCommand,
    StepOutcome,
    Verdict,
    run_step,
)
from workers.build_steps.job import Job
from workers.tasks.building.devices import HeldDevices, StepDevices
from workers.tasks.building.folders import BuildFolder
from workers.tasks.building.jobs import step_job
from workers.tasks.building.needs import STEPS_WITH_DEVICES, step_need
from workers.tasks.building.remote_code import refuse_remote_code, was_left_out
from workers.tasks.building.report import StepReport
from workers.tasks.building.reuse import known_artifact, known_results, published_result
from workers.tasks.building.secrets import secrets_of_build, takes_secrets
from workers.tasks.building.stopped import StepFailed
from workers.tasks.building.traces import step_span
from workers.tasks.leasing import (
    Interrupted,
    LeaseKeeper,
    LeaseStatus,
    retry_on_db_error,
    verdict_of,
)

_STATE_OF_STEP = {step: state for state, step in STEP_OF_STATE.items()}
_STEPS_WITH_DATA = frozenset({"fetch", "calibrate", "gate"})
"""They find the sets of the team in this host's cache."""
_STEPS_WITH_STORE = frozenset({"package", "smoke_test"})

_log = logging.getLogger(__name__)


class BuildRun:
    """Carries the build from wherever it is to its success.

    1. Each step whose published output verifies is reused; the others run in a child.
    2. After `inspect`, an artifact of the same inputs ends the build at once.
    3. A gate that found too much lost ends the build; its figures stay to be seen.
    4. GPUs are held through the steps that hold a model, and given back between them only where
       the next one needs others.
    5. The artifact is recorded when the smoke test has passed, the first one of its inputs.
    """

    def __init__(self, build: Build, keeper: LeaseKeeper, folder: BuildFolder) -> None:
        self._build = build
        self._keeper = keeper
        self._lease = keeper.lease
        self._folder = folder
        self._spec = Spec.model_validate(build.spec)
        self._rows = {step.name: step for step in build.steps.all()}
        self._results: dict[str, Mapping[str, Any]] = {}
        self._known_results: dict[str, Mapping[str, Any]] = {}
        self._lost_content_digest: str | None = None
        self._has_looked = False

    def run(self) -> None:
        """Return once the build has succeeded. Raises StepFailed, Interrupted or LeaseLost."""
        for step in self._rows:
            self._step(step)
        retry_on_db_error(
            self._keeper,
            lambda: build_succeed(
                lease=self._lease,
                package=self._results["package"],
                lost_content_digest=self._lost_content_digest,
            ),
        )

    def _step(self, step: str) -> None:
        with step_span(self._lease, step):
            self._bring_about(step)

    def _bring_about(self, step: str) -> None:
        self._enter(step)
        if "inspect" in self._results and not self._has_looked:
            self._look_for_artifact()
        retry_on_db_error(self._keeper, lambda: refuse_remote_code(self._build, self._results))
        result = self._reused(step)
        self._results[step] = self._made(step) if result is None else result
        if step == "gate":
            self._refuse_loss(self._results[step])

    def _enter(self, step: str) -> None:
        self._keeper.check()
        state: BuildState = _STATE_OF_STEP[step]
        retry_on_db_error(self._keeper, lambda: build_enter(lease=self._lease, state=state))

    def _look_for_artifact(self) -> None:
        """Note what the team has of the same inputs: then nothing after `inspect` need run."""
        self._has_looked = True
        known = known_artifact(
            self._keeper, self._build, FetchResult.model_validate(self._results["fetch"])
        )
        self._lost_content_digest = known.lost_content_digest
        retry_on_db_error(
            self._keeper,
            lambda: build_explain_reuse(
                lease=self._lease,
                inputs=known.inputs,
                is_lost=known.lost_content_digest is not None,
            ),
        )
        if known.package is not None:
            _log.info("reusing artifact %s", known.package["content_digest"])
            self._known_results = known_results(known.package)

    def _refuse_loss(self, gate: Mapping[str, Any]) -> None:
        """Raise StepFailed for a loss over the limit, unless someone accepted that very loss."""
        if gate["state"] != "failed":
            return
        failure = Failure.from_json(gate["failure"])
        if (self._build.promotion or {}).get("accepted") == failure.sentence:
            return
        retry_on_db_error(self._keeper, lambda: step_refuse(lease=self._lease, step="gate"))
        raise StepFailed(failure)

    def _reused(self, step: str) -> Mapping[str, Any] | None:
        result = self._known_results.get(step)
        if result is None:
            result = published_result(self._keeper, self._folder, step)
        if result is not None and retry_on_db_error(
            self._keeper, lambda: was_left_out(self._build, step, result)
        ):
            # Code was granted since the steps ran, so nothing that they made holds.
            self._keeper.check()
            self._folder.forget(tuple(self._rows))
            return None
        # A step that this attempt finished, before its worker was lost, stays as it is.
        if result is not None and self._rows[step].state != StepState.FINISHED:
            _log.info("reusing what %s made before", step)
            retry_on_db_error(
                self._keeper, lambda: step_reuse(lease=self._lease, step=step, result=result)
            )
        return result

    def _made(self, step: str) -> Mapping[str, Any]:
        retry_on_db_error(self._keeper, lambda: step_start(lease=self._lease, step=step))
        report = StepReport(self._keeper, step=step, attempt=self._build.attempt)
        try:
            outcome = run_step(
                self._command(step, report),
                on_progress=report.on_progress,
                on_log=report.on_log,
                heartbeat=lambda: self._beat(report),
            )
            report.measure(outcome, self._folder.draft(step))
            return self._published(step, outcome, report)
        except StepFailed as failed:
            report.say(f"{failed.failure.code}: {failed.failure.sentence}")
            raise
        finally:
            # A lost lease is told by whatever is raised already.
            if self._keeper.status is not LeaseStatus.LOST:
                report.close()

    def _command(self, step: str, report: StepReport) -> StepCommand:
        devices = self._devices(step, report)
        secrets = (
            secrets_of_build(self._keeper, self._spec.secret_names)
            if takes_secrets(step, self._results)
            else {}
        )
        done = tuple(self._results)
        job = retry_on_db_error(
            self._keeper,
            lambda: step_job(
                self._build,
                step=step,
                folder=self._folder,
                inputs=done,
                devices=devices,
            ),
        )
        job.write(self._folder.job(step))
        if step in _STEPS_WITH_DATA:
            self._take_sets(job)
        return StepCommand(
            step=step,
            job_path=self._folder.job(step),
            lease=self._lease.marker,
            instance=str(settings.DATA_DIR),
            secrets=secrets,
            store_variables=store_variables() if step in _STEPS_WITH_STORE else {},
            environment=devices.environment if devices else {},
        )

    def _take_sets(self, job: Job) -> None:
        """Put the sets of the team into this host's cache, where the step finds them."""
        try:
            kept_files(job.options, lambda _count: self._keeper.check())
        except ArtifactFailure as failed:
            raise StepFailed(failed.failure) from failed

    def _devices(self, step: str, report: StepReport) -> HeldDevices | None:
        """Return what the step may use; one that holds no model gives back what others wait for."""
        devices = StepDevices(self._keeper, report, step=step)
        if step not in STEPS_WITH_DEVICES:
            devices.release()
            return None
        inspected = self._results["inspect"]["checkpoint"]
        return devices.claim(
            self._spec,
            lambda smallest: step_need(step, self._spec, inspected, smallest_device_bytes=smallest),
        )

    def _beat(self, report: StepReport) -> Verdict:
        report.tick()
        return verdict_of(self._keeper.status)

    def _published(self, step: str, outcome: StepOutcome, report: StepReport) -> Mapping[str, Any]:
        if outcome.kind in (OutcomeKind.FAILED, OutcomeKind.CRASHED):
            assert outcome.failure is not None
            raise StepFailed(outcome.failure)
        if outcome.kind is not OutcomeKind.FINISHED or outcome.values is None:
            self._keeper.check()
            raise Interrupted(LeaseStatus.LOST)
        values = outcome.values
        if self._keeper.status is LeaseStatus.LOST:
            raise Interrupted(LeaseStatus.LOST)
        outputs.publish(self._folder.draft(step), self._folder.published(step))
        retry_on_db_error(
            self._keeper,
            lambda: step_finish(
                lease=self._lease, step=step, result=values, progress=report.progress
            ),
        )
        return values
