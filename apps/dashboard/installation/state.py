import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import QuerySet, Sum

from apps.accounts.key_ring import KeyRingError, key_ring_load
from apps.accounts.models import AuditEntry
from apps.builds.models import Artifact
from apps.builds.selectors import store_check
from apps.configs.calibration_sets.models import CalibrationVersion
from apps.fleet.selectors import gateway_list, node_list, worker_list
from apps.fleet.services.devices import ENDED_KEPT
from apps.secrets.models import Secret
from apps.telemetry.selectors import journals_with_usage_set_aside
from apps.telemetry.services.retention import USAGE_KEPT
from controlplane.artifacts.opening import folder_of
from controlplane.domain.skew import skew_words
from controlplane.version import product_version

_PACKAGES = ("django", "djangorestframework", "celery", "psycopg", "uvicorn")


@dataclass(frozen=True, kw_only=True)
class SchemaState:
    applied: int
    missing: Sequence[str]
    last: str
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class KeyRingState:
    """The keys that seal secrets; `problem` where this host cannot read them."""

    keys: int
    primary: str
    sealed_by_older: int
    rotated_at: datetime | None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class ProcessState:
    kind: str
    name: str
    state: str
    version: str
    heard_at: datetime | None
    clock_ahead_seconds: int
    """Of the database's; 0 too for those that go by that one."""

    @property
    def clock_words(self) -> str:
        return skew_words(self.clock_ahead_seconds)


@dataclass(frozen=True, kw_only=True)
class StorageState:
    """What is stored, in bytes; a free space is None where this host cannot see the disk."""

    artifacts_bytes: int
    calibration_bytes: int
    database_bytes: int
    logs_bytes: int
    artifacts_free_bytes: int | None
    data_free_bytes: int | None
    artifacts_url: str
    artifacts_problem: dict[str, Any] | None
    """Why the store cannot be used: a failure, as the control worker last found."""
    artifacts_problem_since: datetime | None
    artifacts_checked_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class SetAsideState:
    """Usage that a gateway handed in and that could not be counted."""

    gateway: str
    requests: int
    last: str
    """The last of them, and why."""
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Kept:
    what: str
    days: int | None
    """None: for ever."""
    setting: str = ""


@dataclass(frozen=True, kw_only=True)
class Installation:
    versions: dict[str, str]
    schema: SchemaState
    key_ring: KeyRingState
    processes: Sequence[ProcessState]
    usage_set_aside: Sequence[SetAsideState]
    storage: StorageState
    kept: Sequence[Kept]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def installation_state() -> Installation:
    """Return how the installation is now, in a fixed number of queries."""
    return Installation(
        versions=_versions(),
        schema=_schema(),
        key_ring=_key_ring(),
        processes=_processes(),
        usage_set_aside=_usage_set_aside(),
        storage=_storage(),
        kept=_kept(),
    )


def _versions() -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        server = str(cursor.fetchone()[0])
    return {
        "enginehouse": product_version(),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in _PACKAGES},
        "postgresql": server.partition(" ")[0],
    }


def _schema() -> SchemaState:
    recorded = MigrationRecorder.Migration.objects.order_by("-applied", "-id")
    applied = list(recorded.values_list("app", "name", "applied"))
    have = {(app, name) for app, name, _ in applied}
    return SchemaState(
        applied=len(applied),
        missing=[f"{app}.{name}" for app, name in _on_disk() if (app, name) not in have],
        last=".".join(applied[0][:2]) if applied else "",
        last_at=applied[0][2] if applied else None,
    )


@cache
def _on_disk() -> tuple[tuple[str, str], ...]:
    loader = MigrationLoader(None)
    return tuple(sorted(loader.disk_migrations or ()))


def _key_ring() -> KeyRingState:
    rotations = AuditEntry.objects.filter(action="key_ring.rotate").order_by("-at")
    rotated_at = rotations.values_list("at", flat=True).first()
    try:
        ring = key_ring_load(settings.KEY_RING_FILE)
    except KeyRingError as error:
        return KeyRingState(
            keys=0, primary="", sealed_by_older=0, rotated_at=rotated_at, problem=error.message
        )
    return KeyRingState(
        keys=len(ring.keys),
        primary=ring.primary,
        sealed_by_older=Secret.objects.exclude(key_id=ring.primary).count(),
        rotated_at=rotated_at,
    )


def _processes() -> Sequence[ProcessState]:
    return [
        *(
            _process(each.work, each.name, each.version, each.last_seen_at, each)
            for each in worker_list()
        ),
        *(_process("gateway", each.name, "", each.last_seen_at, each) for each in gateway_list()),
        *(
            _process("agent", each.name, each.agent_version, each.last_heartbeat_at, each)
            for each in node_list().prefetch_related(None)
        ),
    ]


def _usage_set_aside() -> Sequence[SetAsideState]:
    return [
        SetAsideState(
            gateway=each.gateway_name,
            requests=each.set_aside,
            last=each.set_aside_reason,
            last_at=each.set_aside_at,
        )
        for each in journals_with_usage_set_aside()
    ]


def _process(
    kind: str, name: str, version: str, heard_at: datetime | None, row: Any
) -> ProcessState:
    state = "live" if row.is_alive else "silent"
    return ProcessState(
        kind=kind,
        name=name,
        state=state,
        version=version,
        heard_at=heard_at,
        clock_ahead_seconds=getattr(row, "clock_ahead_seconds", 0),
    )


def _storage() -> StorageState:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_database_size(current_database()),"
            " pg_total_relation_size('telemetry_logchunk')"
        )
        database, logs = map(int, cursor.fetchone())
    check = store_check()
    return StorageState(
        artifacts_bytes=_sum_of_contents(Artifact.objects.all()),
        calibration_bytes=_sum_of_contents(CalibrationVersion.objects.all()),
        database_bytes=database,
        logs_bytes=logs,
        artifacts_free_bytes=_free_bytes(folder_of(settings.ARTIFACT_URL)),
        data_free_bytes=_free_bytes(settings.DATA_DIR),
        artifacts_url=settings.ARTIFACT_URL,
        artifacts_problem=check.failure if check else None,
        artifacts_problem_since=check.since if check and check.failure else None,
        artifacts_checked_at=check.checked_at if check else None,
    )


def _sum_of_contents(rows: QuerySet[Any]) -> int:
    """Return the bytes of what the rows name; the same content is stored once."""
    contents = rows.order_by().values("content_digest", "size_bytes").distinct()
    return int(contents.aggregate(total=Sum("size_bytes"))["total"] or 0)


def _free_bytes(folder: Path | None) -> int | None:
    if folder is None:  # a bucket has no end that could be seen
        return None
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _kept() -> Sequence[Kept]:
    logs_days = settings.LOG_RETENTION_DAYS
    return (
        Kept(what="Logs of builds and engines", days=logs_days, setting="LOG_RETENTION_DAYS"),
        Kept(
            what="Series by the minute",
            days=settings.SERIES_KEPT[60].days,
            setting="SERIES_MINUTES_DAYS",
        ),
        Kept(
            what="Series by the hour",
            days=settings.SERIES_KEPT[3600].days,
            setting="SERIES_HOURS_DAYS",
        ),
        Kept(
            what="Series by the day",
            days=settings.SERIES_KEPT[86400].days,
            setting="SERIES_DAYS_DAYS",
        ),
        Kept(what="Usage and hours of GPUs", days=USAGE_KEPT.days),
        Kept(what="Replicas and claims of GPUs that have ended", days=ENDED_KEPT.days),
        Kept(what="Artifacts that something names, and the audit trail", days=None),
    )
