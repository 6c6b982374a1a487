"""Reads of calibration sets: for pages, for checks, for jobs and for the sweep of the store."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Prefetch, Q, QuerySet
from django.db.models.fields.json import KT

from apps.accounts.models import Team
from apps.configs.calibration_sets.models import (
    CalibrationPreview,
    CalibrationSet,
    CalibrationVersion,
)
from apps.configs.models import Revision
from apps.rest.errors import NotFound
from controlplane.domain.facts import calibration_sets as facts
from controlplane.domain.spec import Spec

_PATHS = (
    "spec__trt_llm__build__quantization_config__calib_dataset",
    "spec__enginehouse__gate__evaluation_dataset",
    "spec__model_metadata__enginehouse__gate__evaluation_dataset",
)
"""Where a stored spec names data sets."""
_TASKS = ("spec__enginehouse__gate__tasks", "spec__model_metadata__enginehouse__gate__tasks")
"""Where it has tasks, each of which may name one."""


def set_list(*, team: Team) -> QuerySet[CalibrationSet]:
    """Return the team's sets, each with its `versions`, the last one first."""
    versions = CalibrationVersion.objects.order_by("-number").select_related("created_by")
    return CalibrationSet.objects.filter(team=team).prefetch_related(
        Prefetch("versions", versions.defer("head"))
    )


def set_names(*, team: Team) -> list[str]:
    return list(
        CalibrationSet.objects.filter(team=team).order_by("name").values_list("name", flat=True)
    )


def set_get(*, team: Team, set_id: str) -> CalibrationSet:
    calibration_set = set_list(team=team).filter(id=set_id).first()
    if calibration_set is None:
        raise NotFound(f"There is no calibration set `{set_id}`.")
    return calibration_set


def version_get(
    *, calibration_set: CalibrationSet, number: int | None = None
) -> CalibrationVersion:
    """Return that version of a set whole, the last one where none is named. Raises NotFound."""
    versions = CalibrationVersion.objects.filter(set=calibration_set).select_related("created_by")
    if number is not None:
        versions = versions.filter(number=number)
    version = versions.order_by("-number").first()
    if version is None:
        raise NotFound(f"The set `{calibration_set.name}` has no version {number}.")
    return version


def known_sets(*, team: Team) -> tuple[facts.CalibrationSet, ...]:
    stored = CalibrationVersion.objects.filter(set__team=team).order_by("set__name", "number")
    versions: dict[str, list[facts.SetVersion]] = {}
    for row in stored.values_list("set__name", "number", "column", "rows", "empty_rows"):
        name, number, column, rows, empty = row
        version = facts.SetVersion(number=number, column=column, rows=rows - empty)
        versions.setdefault(name, []).append(version)
    return tuple(
        facts.CalibrationSet(name=name, versions=tuple(set_versions))
        for name, set_versions in versions.items()
    )


def sets_of_job(
    *, team: Team, spec: Spec, pinned: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return data set -> where its file is, of every set of the team that a spec names.

    `pinned` maps data sets to the digest that a build began with: that version, whatever was
    uploaded since. A set that is gone is absent.
    """
    sets = {}
    for dataset, reference in facts.references_of(spec).items():
        versions = CalibrationVersion.objects.filter(set__team=team, set__name=reference.name)
        if reference.version is not None:
            versions = versions.filter(number=reference.version)
        elif digest := (pinned or {}).get(dataset):
            versions = versions.filter(digest=digest)
        if version := versions.order_by("-number").first():
            sets[dataset] = {
                "name": reference.name,
                "version": version.number,
                "column": version.column,
                "rows": version.usable_rows,
                "content_digest": version.content_digest,
                "file_name": version.file_name,
            }
    return sets


def stored_contents() -> frozenset[str]:
    """Return the content digests that the artifact store must keep for sets."""
    digests = CalibrationVersion.objects.values_list("content_digest", flat=True)
    return frozenset(digests.distinct())


def revisions_naming(*, team: Team, names: Iterable[str]) -> Sequence[Revision]:
    names = list(names)
    if not names:
        return []
    references = {*names, *(f"{facts.PREFIX}{name}" for name in names)}
    last = Revision.objects.filter(config__team=team).order_by("config_id", "-number")
    # Read once and compared here: a condition for each name would cut every document open again.
    rows = last.distinct("config_id").values_list("id", *(KT(path) for path in (*_PATHS, *_TASKS)))
    naming = [each for each, *data in rows if references & {*map(_without_version, _data(data))}]
    revisions = Revision.objects.filter(id__in=naming)
    return list(revisions.select_related("config__team").order_by("config__name"))


def _data(data: Sequence[str | None]) -> Iterator[str | None]:
    yield from data[: len(_PATHS)]
    for tasks in filter(None, data[len(_PATHS) :]):
        yield from (each.get("dataset") for each in json.loads(tasks).values())


def _without_version(dataset: str | None) -> str:
    name = dataset or ""
    return name.partition("@")[0] if name.startswith(facts.PREFIX) else name


def named_data(spec: Mapping[str, Any]) -> tuple[str, ...]:
    return facts.data_sets(Spec.model_validate(spec))


def preview_list(*, team: Team) -> QuerySet[CalibrationPreview]:
    return (
        CalibrationPreview.objects.filter(team=team)
        .select_related("revision__config", "created_by")
        .order_by("-created_at", "-id")
    )


def previews_of(calibration_set: CalibrationSet) -> QuerySet[CalibrationPreview]:
    dataset = f"{facts.PREFIX}{calibration_set.name}"
    named = Q(dataset=dataset) | Q(dataset__startswith=f"{dataset}@")
    return preview_list(team=calibration_set.team).filter(named)


def preview_get(*, team: Team, preview_id: str) -> CalibrationPreview:
    preview = preview_list(team=team).filter(id=preview_id).first()
    if preview is None:
        raise NotFound(f"There is no preview `{preview_id}`.")
    return preview


def preview_to_make(*, preview_id: str) -> CalibrationPreview:
    return CalibrationPreview.objects.select_related("revision", "team").get(id=preview_id)
