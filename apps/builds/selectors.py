"""Reads of builds and artifacts, always within one team."""

from collections.abc import Mapping

from django.db.models import F, Prefetch, Q, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce

from apps.accounts.models import Team, User
from apps.builds.models import Artifact, Build, BuildStep, StoreCheck
from apps.builds.services.progress import step_log_owner
from apps.leases.database_clock import ClockTimestamp
from apps.rest.errors import NotFound
from controlplane.domain.lifecycle import BUILD_TERMINAL

BUILD_SORTS: Mapping[str, str | Combinable] = {
    "number": "number",
    "config": "revision__config__name",
    "state": "state",
    "runtime": "runtime",
    "duration": Coalesce("finished_at", ClockTimestamp()) - F("started_at"),
    "by": "created_by__email",
    "queued": "created_at",
}
"""What the columns of their page sort by."""
_STEPS = Prefetch("steps", queryset=BuildStep.objects.order_by("position"))


def build_list(
    *, team: Team, state: str | None = None, config_id: str | None = None
) -> QuerySet[Build]:
    """Return the team's builds with config, artifact and steps: two queries for any page."""
    builds = Build.objects.filter(team=team)
    if state is not None:
        builds = builds.filter(state=state)
    if config_id is not None:
        builds = builds.filter(revision__config_id=config_id)
    return _with_parts(builds).order_by("-created_at", "-id")


def build_numbered(team: Team, number: int) -> Build:
    build = build_list(team=team).filter(number=number).first()
    if build is None:
        raise NotFound(f"There is no build {number}.")
    return build


def build_search(*, team: Team, words: str = "", state: str = "") -> QuerySet[Build]:
    builds = Build.objects.filter(team=team)
    if words:
        of_config = Q(revision__config__name__icontains=words)
        builds = builds.filter(of_config | Q(number=int(words)) if words.isdecimal() else of_config)
    if state:
        builds = builds.filter(state=state)
    steps = BuildStep.objects.only("build_id", "name", "state").order_by("position")
    return (
        build_rows(builds, "revision__spec")
        .prefetch_related(Prefetch("steps", queryset=steps))
        .order_by("-created_at", "-id")
    )


def build_rows(builds: QuerySet[Build], *more: str) -> QuerySet[Build]:
    """Return the builds with the little that a list shows, and `more`: one query, no steps."""
    return (
        builds.select_related(None)
        .prefetch_related(None)
        .select_related("revision__config", "created_by")
        .only(
            *("number", "state", "attempt", "pool", "runtime", "failure", "artifact_id", "team_id"),
            *("created_at", "started_at", "finished_at", "cancel_requested_at"),
            *("revision__number", "revision__config__name", "created_by__email"),
            *more,
        )
    )


def build_detail(*, team: Team, build_id: str) -> Build:
    """Return the build with everything that its page shows. Raises NotFound."""
    build = _with_parts(Build.objects.filter(team=team, id=build_id)).first()
    if build is None:
        raise NotFound(f"There is no build `{build_id}`.")
    return build


def build_to_run(*, build_id: str) -> Build:
    builds = Build.objects.filter(id=build_id).select_related("team", "revision__config")
    return builds.prefetch_related(_STEPS).get()


def build_requester(build: Build) -> str | None:
    """Return the address of who asked for the build, if a person did who is still known."""
    # A build worker may read no more of people than this.
    people = User.objects.filter(id=build.created_by_id)
    return people.values_list("email", flat=True).first()


def build_state(*, build_id: str) -> str | None:
    return Build.objects.filter(id=build_id).values_list("state", flat=True).first()


def build_previous(build: Build) -> int | None:
    earlier = Build.objects.filter(
        team=build.team_id, revision__config=build.revision.config_id, number__lt=build.number
    )
    return earlier.order_by("-number").values_list("number", flat=True).first()


def build_maker(build: Build) -> int | None:
    if build.artifact is None:
        return None
    built = build.artifact.passport.get("built") or {}
    makers = Build.objects.filter(team=build.team_id, id=built.get("build_id")).exclude(id=build.id)
    return makers.values_list("number", flat=True).first()


def build_log_owners(*, build: Build, step: str | None = None) -> list[str]:
    names = [each.name for each in build.steps.all() if step is None or each.name == step]
    return [step_log_owner(build_id=build.id, step=name) for name in names]


def artifact_list(*, team: Team) -> QuerySet[Artifact]:
    """Return the team's artifacts, newest first, without their passports."""
    artifacts = Artifact.objects.filter(team=team).defer("passport", "files", "inputs")
    return artifacts.order_by("-created_at")


def artifact_search(*, team: Team, words: str = "") -> QuerySet[Artifact]:
    artifacts = artifact_list(team=team)
    if words:
        named = Artifact.objects.filter(
            Q(id=words)
            | Q(content_digest__contains=words)
            | Q(passport__checkpoint__repo__icontains=words)
            | Q(builds__revision__config__name__icontains=words),
            team=team,
        )
        artifacts = artifacts.filter(id__in=named.values("id"))
    return artifact_rows(artifacts)


def artifact_rows(artifacts: QuerySet[Artifact]) -> QuerySet[Artifact]:
    """Return the artifacts with what a list shows: two queries for any page."""
    builds = Build.objects.select_related("revision__config").order_by("number")
    return artifacts.annotate(
        quantization_type=KT("passport__quantization__quantization_type"),
        gate_state=KT("passport__gate__state"),
        repo=KT("passport__checkpoint__repo"),
    ).prefetch_related(
        Prefetch(
            "builds",
            queryset=builds.only("number", "artifact_id", "revision__config__name"),
        )
    )


def artifact_detail(*, team: Team, artifact_id: str) -> Artifact:
    """Return the artifact of that id or content digest, with files and passport.

    Of several with the same content the newest. Raises NotFound.
    """
    named = Q(id=artifact_id) | Q(content_digest=full_digest(artifact_id))
    artifact = Artifact.objects.filter(named, team=team).order_by("-created_at").first()
    if artifact is None:
        raise NotFound(f"There is no artifact `{artifact_id}`.")
    return artifact


def artifact_builds(artifact: Artifact) -> QuerySet[Build]:
    return artifact.builds.select_related("revision__config", "created_by").order_by("number")


def store_check() -> StoreCheck | None:
    """Return what the last check of the artifact store found; None before the first."""
    return StoreCheck.objects.filter(id=StoreCheck.ROW).first()


def stored_contents() -> frozenset[str]:
    """Return the content digests that the artifact store must keep for artifacts and builds."""
    published = BuildStep.objects.exclude(build__state__in=BUILD_TERMINAL).filter(name="package")
    packaged = published.exclude(result=None).values_list("result__content_digest", flat=True)
    return frozenset(Artifact.objects.values_list("content_digest", flat=True)) | set(packaged)


def full_digest(text: str) -> str:
    """Return a digest with the name of its algorithm, which an address may leave out."""
    return text if ":" in text else f"sha256:{text}"


def _with_parts(builds: QuerySet[Build]) -> QuerySet[Build]:
    related = builds.select_related("revision__config", "artifact", "created_by")
    return related.prefetch_related(_STEPS)
