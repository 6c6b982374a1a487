"""Uploads: a file is read, stored by content, and only then a version of its set."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO

from django.conf import settings
from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import Team, User
from apps.configs.calibration_sets.models import CalibrationSet, CalibrationVersion
from apps.configs.calibration_sets.selectors import revisions_naming
from apps.configs.services.verdicts import verdict_renew
from apps.rest.errors import InvalidInput, TooLarge, Unavailable
from apps.rest.streaming import free_connection
from controlplane import clock
from controlplane.artifacts import PAGES, ArtifactFailure, ArtifactStore, Published
from controlplane.artifacts.durable import means_disk_full
from controlplane.calibration_files import BadFile, Inspection, inspect_file
from controlplane.domain.facts.calibration_sets import NAME_RULE, PREFIX, is_set_name
from controlplane.domain.failures.registry import artifacts

_LONGEST_FILE_NAME = 255
_CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Upload:
    """What became of an upload; not `is_new` when the set's last version has the same content."""

    version: CalibrationVersion
    is_new: bool


def set_upload(
    *, team: Team, name: str, file: BinaryIO, file_name: str, user: User | None = None
) -> Upload:
    """Return the version that now holds the file, of the set of that name, made where it is new.

    A refused file changes nothing: the set keeps the versions that it has.

    Raises:
        InvalidInput: the name cannot be one, or the file cannot be used; the message says where.
        TooLarge: the file is larger than CALIBRATION_MAX_BYTES.
        Unavailable: the store has no room, or cannot be reached.
    """
    name = checked_set_name(name)
    file_name = PurePath(file_name.replace("\\", "/")).name[-_LONGEST_FILE_NAME:] or "upload"
    free_connection()
    with tempfile.TemporaryDirectory(prefix="calibration-") as folder:
        try:
            inspection, published = _stored(Path(folder), file, file_name)
        except BadFile as refused:
            raise _refusal(refused) from None
        except ArtifactFailure as failed:
            raise _unavailable(failed) from None
        except PermissionError as error:
            raise Unavailable(
                f"The web process may not write to `{error.filename}`.",
                hint="Open the folder behind ARTIFACT_URL to its user; builds write there too.",
            ) from None
    with transaction.atomic():
        upload = _version(team, name, inspection, published, file_name, user)
        if upload.is_new:
            after = {"version": upload.version.number, "digest": upload.version.digest}
            audit("calibration_set.upload", upload.version.set, team=team, after=after)
    _check_again(team, name)
    return upload


def set_delete(*, calibration_set: CalibrationSet) -> None:
    """Delete a set with all its versions; configs that name it say so from now on.

    Its files stay in the store for the day that a sweep spares, for builds that have begun.
    Raises Unavailable where the store cannot be asked to.
    """
    team, name = calibration_set.team, calibration_set.name
    contents = list(calibration_set.versions.values_list("content_digest", flat=True))
    _spare(contents)
    with transaction.atomic():
        audit(
            "calibration_set.delete", calibration_set, team=team, before={"versions": len(contents)}
        )
        calibration_set.delete()
    _check_again(team, name)


def checked_set_name(name: str) -> str:
    """Return the name without the prefix that configs write. Raises InvalidInput."""
    plain = name.strip().removeprefix(PREFIX)
    if not is_set_name(plain):
        raise InvalidInput(
            f"`{plain}` cannot be the name of a calibration set.",
            code="calibration_name",
            fields=["name"],
            hint=f"A name has {NAME_RULE}.",
        )
    return plain


def _spare(contents: Sequence[str]) -> None:
    free_connection()
    try:
        store = ArtifactStore.open(settings.ARTIFACT_URL, patience=PAGES)
        for content in contents:
            store.spare(content)
    except ArtifactFailure as failed:
        raise _unavailable(failed) from None


def _unavailable(failed: ArtifactFailure) -> Unavailable:
    return Unavailable(failed.failure.sentence, hint=failed.failure.hint)


def _stored(folder: Path, file: BinaryIO, file_name: str) -> tuple[Inspection, Published]:
    limit = settings.CALIBRATION_MAX_BYTES
    upload = folder / "upload"
    _copy(file, upload, limit)
    content = folder / "content"
    content.mkdir()
    inspection = inspect_file(
        upload, file_name, rewritten=content / "rows.jsonl", limit_bytes=limit
    )
    if not inspection.normalized:
        upload.rename(content / f"rows{PurePath(file_name).suffix.lower()}")
    store = ArtifactStore.open(settings.ARTIFACT_URL, patience=PAGES)
    return inspection, store.publish(content, {"kind": "calibration set", "format": 1})


def _copy(file: BinaryIO, target: Path, limit: int) -> None:
    """Write the upload to a file of ours; what lies in memory or in the spool is gone soon."""
    left = limit
    try:
        with target.open("wb") as writer:
            while chunk := file.read(_CHUNK_BYTES):
                left -= len(chunk)
                if left < 0:
                    raise _too_large(limit)
                writer.write(chunk)
    except OSError as error:
        if means_disk_full(error):
            raise ArtifactFailure.of(artifacts.DISK_FULL, folder=str(target.parent)) from error
        raise


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The file is larger than {limit // 1_000_000:,} MB.",
        fields=["file"],
        hint="A thousand texts are enough to calibrate on. The operator can raise "
        "CALIBRATION_MAX_BYTES.",
    )


def _version(
    team: Team,
    name: str,
    inspection: Inspection,
    published: Published,
    file_name: str,
    user: User | None,
) -> Upload:
    CalibrationSet.objects.get_or_create(team=team, name=name)
    # Held so that two uploads never take one number.
    kept = CalibrationSet.objects.select_for_update(no_key=True).get(team=team, name=name)
    last = kept.versions.order_by("-number").first()
    if last is not None and last.content_digest == published.content_digest:
        return Upload(version=last, is_new=False)
    CalibrationSet.objects.filter(id=kept.id).update(updated_at=clock.now())
    (stored,) = published.files
    version = CalibrationVersion.objects.create(
        set=kept,
        number=last.number + 1 if last else 1,
        digest=f"sha256:{stored.sha256}",
        content_digest=published.content_digest,
        file_name=stored.path,
        uploaded_name=file_name,
        column=inspection.column,
        rows=inspection.rows,
        empty_rows=inspection.empty_rows,
        short_rows=inspection.short_rows,
        size_bytes=stored.size_bytes,
        head=inspection.head,
        created_by=user,
    )
    return Upload(version=version, is_new=True)


def _check_again(team: Team, name: str) -> None:
    for revision in revisions_naming(team=team, names=[name]):
        verdict_renew(revision)


def _refusal(refused: BadFile) -> InvalidInput:
    problem = refused.problem
    return InvalidInput(
        problem.message,
        code=problem.code,
        fields=["file"],
        hint=problem.hint,
        details={"line": problem.line} if problem.line else None,
    )
