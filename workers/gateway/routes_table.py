"""The table of routes as it is kept current: a whole one at first, changes after it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from controlplane.domain.wire.routes import RoutesDigest
from workers.gateway.consents import read_consent
from workers.gateway.layered_map import LayeredMap
from workers.gateway.snapshot import Deployment, Key, Model, Replica, Routes, Snapshot, Suspect
from workers.gateway.snapshot_reading import (
    NESTED_FORMATS,
    message,
    nested,
    read_deployment,
    read_key,
    read_replica,
    read_shares,
    read_suspect,
    reading,
    table,
)

Placed = Replica | Suspect
_Row = TypeVar("_Row")
_NOTHING = Snapshot(version=0, models=LayeredMap[str, Model]({}), keys=LayeredMap[str, Key]({}))


class RoutesGap(Exception):
    """The change is one after another version than this table has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    is_whole: bool
    is_same: bool
    """Whether the table now is what the control plane has, by its digest."""


class RoutesTable:
    """What is known, and the digest by which the control plane recognises it.

    A message that cannot be read, or does not follow, changes nothing.
    """

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        self.digest: str | None = None
        """None where a control plane of an earlier release sent it."""
        self._rows = _Rows()

    def take(self, payload: bytes) -> Taken:
        """Change the table by a message. Raises UnreadableSnapshot or RoutesGap."""
        with reading():
            data = message(payload)
            if data["format"] in NESTED_FORMATS:
                self.snapshot, self.digest, self._rows = nested(data), None, _Rows()
                return Taken(is_whole=True, is_same=True)
            return self._take(data)

    def _take(self, data: Mapping[str, Any]) -> Taken:
        is_whole = data["after"] is None
        if not is_whole and not self._follows(int(data["after"])):
            raise RoutesGap(f"a change after version {data['after']}")
        read = _Read(data, {} if is_whole else self._rows.tables)
        rows = _Rows() if is_whole else self._rows
        rows.put(read, data)
        self._rows, self.digest = rows, rows.digest.text
        before = None if is_whole else self.snapshot
        self.snapshot = rows.snapshot(int(data["version"]), before, read)
        return Taken(is_whole=is_whole, is_same=self.digest == data["digest"])

    def _follows(self, version: int) -> bool:
        known = self.snapshot
        return known is not None and self.digest is not None and known.version == version


class _Read:
    """The rows of a message, all read before one of them is put anywhere."""

    def __init__(self, data: Mapping[str, Any], known_tables: Mapping[str, Routes]) -> None:
        tables = {name: table(rows) for name, rows in data.get("route_tables", {}).items()}
        self.tables = {**known_tables, **tables}
        self.models = {id: row and _model(id, row) for id, row in data["models"].items()}
        self.deployments = {
            id: row and read_deployment(id, row["model_id"], row, self.tables)
            for id, row in data["deployments"].items()
        }
        self.replicas = {
            id: row and (row["deployment_id"], _placed(id, row))
            for id, row in data["replicas"].items()
        }
        self.keys = {digest: row and read_key(row) for digest, row in data["keys"].items()}
        int(data["version"]), str(data["digest"])


class _Rows:
    """Every row by itself, so that a change costs what it touches."""

    def __init__(self) -> None:
        self.digest = RoutesDigest()
        self.tables: dict[str, Routes] = {}
        self.models: dict[str, Model] = {}
        self.deployments: dict[str, Deployment] = {}
        self.replicas: dict[str, tuple[str, Placed]] = {}
        self._replicas_of: dict[str, dict[str, Placed]] = {}
        self._deployments_of: dict[str, dict[str, Deployment]] = {}
        """With their replicas, by model."""
        self._touched_deployments: set[str] = set()
        self._touched_models: set[str] = set()
        """What is to be put together anew."""

    def put(self, read: _Read, data: Mapping[str, Any]) -> None:
        self.tables = read.tables
        for replica_id, placed in read.replicas.items():
            self._put_replica(replica_id, placed)
        for deployment_id, deployment in read.deployments.items():
            self._put_deployment(deployment_id, deployment)
        for model_id, model in read.models.items():
            self._touched_models.add(model_id)
            _set(self.models, model_id, model)
        self.digest.put_all(data)

    def snapshot(self, version: int, before: Snapshot | None, read: _Read) -> Snapshot:
        """Return the table as requests read it; what nothing touched is as it was before."""
        self._put_together()
        models = {id: self._whole_model(id) for id in self._touched_models}
        self._touched_models = set()
        known = before or _NOTHING
        return Snapshot(
            version=version,
            models=_layered(known.models).with_changes(models),
            keys=_layered(known.keys).with_changes(read.keys),
            since=None if before is None else before.version,
            touched_models=frozenset(models),
            touched_keys=frozenset(read.keys),
        )

    def _put_replica(self, id: str, placed: tuple[str, Placed] | None) -> None:
        if (known := self.replicas.pop(id, None)) is not None:
            self._replicas_of[known[0]].pop(id)
            self._touched_deployments.add(known[0])
        if placed is not None:
            self.replicas[id] = placed
            self._replicas_of.setdefault(placed[0], {})[id] = placed[1]
            self._touched_deployments.add(placed[0])

    def _put_deployment(self, id: str, deployment: Deployment | None) -> None:
        if (known := self.deployments.get(id)) is not None:
            self._deployments_of[known.model_id].pop(id)
            self._touched_models.add(known.model_id)
        _set(self.deployments, id, deployment)
        self._touched_deployments.add(id)

    def _put_together(self) -> None:
        for id in self._touched_deployments:
            if (deployment := self.deployments.get(id)) is not None:
                placed = [row for _, row in sorted(self._replicas_of.get(id, {}).items())]
                whole = replace(
                    deployment,
                    replicas=tuple(each for each in placed if isinstance(each, Replica)),
                    suspects=tuple(each for each in placed if isinstance(each, Suspect)),
                )
                self._deployments_of.setdefault(deployment.model_id, {})[id] = whole
                self._touched_models.add(deployment.model_id)
        self._touched_deployments = set()

    def _whole_model(self, id: str) -> Model | None:
        model = self.models.get(id)
        if model is None:
            return None
        return replace(model, deployments=dict(self._deployments_of.get(id, {})))


def _layered(rows: Mapping[str, _Row]) -> LayeredMap[str, _Row]:
    return rows if isinstance(rows, LayeredMap) else LayeredMap(rows)


def _model(id: str, row: Mapping[str, Any]) -> Model:
    return Model(
        id=id,
        name=row["name"],
        team_id=row["team_id"],
        environments=dict(row["environments"]),
        deployments={},
        shares=read_shares(row),
        consent=read_consent(row),
    )


def _placed(id: str, row: Mapping[str, Any]) -> Placed:
    if row.get("is_suspect"):
        return read_suspect(id, row["deployment_id"], row)
    return read_replica(id, row)


def _set(rows: dict[str, Any], id: str, row: object | None) -> None:
    if row is None:
        rows.pop(id, None)
    else:
        rows[id] = row
