"""A named data set, pinned: who it is, byte for byte, and its rows."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from controlplane.artifacts.digests import hash_file
from controlplane.domain.failures.registry import calibration
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.step_results import DataIdentity
from controlplane.sources import SourceOptions
from workers.build_steps.calibration import failures
from workers.build_steps.calibration.hub import DatasetHub
from workers.build_steps.calibration.kept import kept_files
from workers.build_steps.calibration.layout import READABLE, train_files
from workers.build_steps.calibration.names import Dataset, Kind, find_dataset
from workers.build_steps.calibration.rows import Row, read_rows
from workers.build_steps.failures import StepFailure
from workers.build_steps.options import JobOptions

_SPLIT = "train"
_HUB_SECRET = "hf_access_token"
"""The name that a secret for the hub has unless the checkpoint names another."""


@dataclass(frozen=True, kw_only=True)
class Places:
    sources: SourceOptions
    kept: Mapping[str, str]
    """Data sets of the team, as configs name them -> their files."""
    token: str | None = None

    @classmethod
    def of_job(cls, spec: Spec, options: JobOptions, secrets: Mapping[str, str]) -> Self:
        """Return the places that a build job opens.

        The checkpoint's own secret goes to a hub only when the checkpoint comes from there: that
        of a bucket is none of a hub's business.
        """
        checkpoint = spec.checkpoint
        from_hub = checkpoint is not None and checkpoint.source is CheckpointSource.HF
        name = checkpoint.runtime_secret_name if checkpoint and from_hub else _HUB_SECRET
        return cls(
            sources=options.sources(),
            kept=kept_files(options),
            token=secrets.get(name),
        )


class OpenDataset:
    """A data set whose revision is settled."""

    def __init__(self, name: str, places: Places) -> None:
        self._dataset = find_dataset(
            name, roots=places.sources.local_checkpoint_roots, kept=places.kept
        )
        self._source = (
            _HubFiles(self._dataset, places)
            if self._dataset.kind is Kind.HUB
            else _LocalFiles(self._dataset)
        )

    @property
    def identity(self) -> DataIdentity:
        return DataIdentity(
            dataset=self._dataset.name,
            config=self._source.config,
            split=_SPLIT,
            revision=self._source.revision,
        )

    @property
    def column(self) -> str | None:
        """The column that is known beforehand to hold the text."""
        return self._dataset.column

    def rows(self) -> Iterator[Row]:
        """Yield rows in order; nothing after the last one taken is fetched."""
        for path in self._source.paths:
            with self._source.open(path) as file:
                yield from read_rows(self._dataset.name, path, file)

    def refuse_change(self, began_with: DataIdentity | None) -> None:
        """Raise StepFailure when the data are not those that the build began with."""
        if began_with is not None and began_with.revision != self.identity.revision:
            raise failures.changed(self._dataset.name, began_with.revision, self.identity.revision)


class _HubFiles:
    def __init__(self, dataset: Dataset, places: Places) -> None:
        self._hub = DatasetHub(dataset, token=places.token, options=places.sources)
        information = self._hub.information(dataset.revision)
        self._sizes = {each["rfilename"]: each.get("size") for each in information["siblings"]}
        self.revision = str(information["sha"])
        device = information.get("deviceData")
        self.config, self.paths = train_files(
            dataset.name,
            dataset.config,
            list(self._sizes),
            device if isinstance(device, dict) else {},
        )

    def open(self, path: str) -> Any:
        return self._hub.open(self.revision, path, int(self._sizes[path] or 0))


class _LocalFiles:
    config: str | None = None

    def __init__(self, dataset: Dataset) -> None:
        assert dataset.path is not None
        self._root, self.paths = _listed(dataset, dataset.path)
        hashes = [hash_file(self._root / each) for each in self.paths]
        # One file is known by its own digest, whatever its name.
        whole = hashes[0] if len(hashes) == 1 else _digest("\n".join(hashes))
        self.revision = f"sha256:{whole}"

    def open(self, path: str) -> Any:
        return (self._root / path).open("rb")


def _listed(dataset: Dataset, path: Path) -> tuple[Path, list[str]]:
    if path.is_file():
        if path.suffix not in READABLE:
            raise StepFailure.of(
                calibration.FILE,
                name=dataset.name,
                file=path.name,
                reason=f"`{path.suffix}` is not known",
            )
        return path.parent, [path.name]
    names = [each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file()]
    return path, train_files(dataset.name, None, names, {})[1]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
