"""What a build of a spec will take, from the team's rows: facts, earlier builds, the queue.

Reads only; what is not known of the checkpoint is asked for as the checks ask for it.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet

from apps.accounts.models import Team
from apps.builds.models import Artifact, Build, BuildStep
from apps.configs.models import Revision
from apps.configs.services.examination import known_of
from controlplane import clock
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.forecast import (
    Ahead,
    BuildForecast,
    Estimate,
    Forecast,
    PastStep,
    QueuePlace,
    forecast,
    queue_place,
    steps_of_past,
)
from controlplane.domain.forecast.cached import (
    DOWNLOADS_KEPT_SECONDS,
    Cached,
    CachedArtifact,
    CachedCheckpoint,
    cached_checkpoint,
)
from controlplane.domain.forecast.history import is_same_kind
from controlplane.domain.forecast.outcome import Measured
from controlplane.domain.lifecycle import BUILD_TERMINAL, BuildState, StepState
from controlplane.domain.rules.context import Context, Known, context_of
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import CheckpointSource

_MOST_PAST_STEPS = 60
_REPO = "spec__trt_llm__build__checkpoint_repository__repo"
_RUNNING = frozenset(BuildState) - BUILD_TERMINAL - {BuildState.QUEUED}
_DONE = (StepState.FINISHED, StepState.REUSED)


def forecast_of_revision(revision: Revision) -> Forecast:
    return forecast_of_spec(team=revision.config.team, spec=Spec.model_validate(revision.spec))


def forecast_of_spec(*, team: Team, spec: Spec) -> Forecast:
    """Return the forecast; `absent` says why there is none."""
    known = known_of(team=team, spec=spec)
    spec = context_of(spec, known).spec
    forecast = Forecast(
        made_at=clock.now().replace(microsecond=0),
        queue=queue_before(pool=spec.pool),
        absent=_why_absent(spec, known),
    )
    if forecast.absent is not None:
        return forecast
    checkpoint = _cached_checkpoint(team, spec, known)
    planned = _planned(team, spec, known, is_fetched=checkpoint.is_fetched)
    cached = Cached(checkpoint=checkpoint, artifact=_known_artifact(team, spec, known))
    return forecast.model_copy(update={**dict(planned), "cached": cached})


def queue_before(*, pool: str, build: Build | None = None) -> QueuePlace:
    """Return the place in the pool's queue: behind all that wait, or behind those before `build`.

    Builds of other teams count too, as numbers only.
    """
    waiting = Q(state=BuildState.QUEUED)
    if build is not None:
        waiting &= Q(created_at__lt=build.created_at)
    before = Build.objects.filter(pool=pool).filter(waiting | Q(state__in=_RUNNING))
    rows = before.values("state", "started_at", "forecast__seconds")
    return queue_place(pool, [_ahead(row) for row in rows])


def _planned(team: Team, spec: Spec, known: Known, *, is_fetched: bool) -> BuildForecast:
    context = Context(spec=spec, known=known)
    assert context.device is not None
    assert known.checkpoint is not None
    hosts = [offer for offer in known.devices or () if offer.kind == CPU]
    return forecast(
        spec,
        known.checkpoint,
        context.device,
        host=max(hosts, key=lambda offer: offer.memory_bytes, default=None),
        past=steps_of_past(_past(team, spec)),
        is_fetched=is_fetched,
    )


def _why_absent(spec: Spec, known: Known) -> str | None:
    if known.checkpoint is None:
        if known.checkpoint_failure is not None:
            return "The checkpoint could not be read, so nobody knows its size."
        return "The checkpoint's files are still being read."
    if Context(spec=spec, known=known).device is None:
        return "No host offers the GPU that the config asks for, and its memory is not known."
    return None


def _ahead(row: Mapping[str, Any]) -> Ahead:
    elapsed = 0.0
    if row["started_at"] is not None:
        elapsed = (clock.now() - row["started_at"]).total_seconds()
    low = high = None
    if row["forecast__seconds"]:
        expected = Estimate.model_validate(row["forecast__seconds"])
        low, high = max(0.0, expected.low - elapsed), max(0.0, expected.high - elapsed)
    is_running = row["state"] != BuildState.QUEUED
    return Ahead(is_running=is_running, low_seconds=low, high_seconds=high)


def _past(team: Team, spec: Spec) -> Iterator[PastStep]:
    """Yield the measured steps of the team's builds of the same kind, the newest first."""
    if spec.checkpoint is None:
        return
    rows = (
        BuildStep.objects.filter(
            build__team=team,
            state=StepState.FINISHED,
            measured__isnull=False,
            **{f"build__revision__{_REPO}": spec.checkpoint.repo},
        )
        .order_by("-finished_at")
        .values("name", "measured", "build__revision_id", "build__revision__spec")
    )
    kinds: dict[str, bool] = {}
    for row in rows[:_MOST_PAST_STEPS]:
        revision_id = row["build__revision_id"]
        if revision_id not in kinds:
            other = Spec.model_validate(row["build__revision__spec"])
            kinds[revision_id] = is_same_kind(spec, other)
        if kinds[revision_id]:
            measured = Measured.model_validate(row["measured"])
            yield PastStep(
                name=row["name"],
                seconds=measured.seconds,
                peak_host_bytes=measured.peak_host_bytes,
                peak_device_bytes=measured.peak_device_bytes,
                disk_bytes=measured.disk_bytes,
            )


def _cached_checkpoint(team: Team, spec: Spec, known: Known) -> CachedCheckpoint:
    """Return whether a worker has the files of this very commit, as far as rows tell."""
    commit = known.checkpoint.commit if known.checkpoint else None
    is_local = spec.checkpoint is not None and spec.checkpoint.source is CheckpointSource.LOCAL
    fetched = None if is_local or not commit else _last_fetch(team, spec, commit).first()
    return cached_checkpoint(
        commit,
        is_local=is_local,
        build_number=fetched.build.number if fetched else None,
        host=(fetched.measured or {}).get("host") if fetched else None,
    )


def _last_fetch(team: Team, spec: Spec, commit: str) -> QuerySet[BuildStep]:
    assert spec.checkpoint is not None
    return (
        BuildStep.objects.filter(
            build__team=team,
            name="fetch",
            state__in=_DONE,
            result__commit=commit,
            finished_at__gt=clock.now() - timedelta(seconds=DOWNLOADS_KEPT_SECONDS),
            **{f"build__revision__{_REPO}": spec.checkpoint.repo},
        )
        .select_related("build")
        .order_by("-finished_at")
    )


def _known_artifact(team: Team, spec: Spec, known: Known) -> CachedArtifact | None:
    """Return the newest artifact of this commit and spec, with what else has to be the same."""
    commit = known.checkpoint.commit if known.checkpoint else None
    if not commit:
        return None
    same = Artifact.objects.filter(
        team=team, inputs__commit=commit, inputs__spec=spec.model_dump(mode="json")
    )
    artifact = same.defer("files", "passport").order_by("-created_at").first()
    if artifact is None or artifact.inputs is None:
        return None
    return CachedArtifact(
        id=artifact.id,
        content_digest=artifact.content_digest,
        tool_versions=artifact.inputs["tool_versions"],
        calibration=artifact.inputs.get("calibration"),
    )
