"""What is asked of an archive behind an address."""

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from controlplane.domain.failures import Failure
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import Resolved, SourceFailure, SourceOptions, fetch, resolve
from tests.archive_server import ArchiveServer

PATH = "/llama.tar.gz"


def behind(url: str) -> CheckpointRepository:
    return CheckpointRepository.model_validate({"source": "REMOTE_URL", "repo": url})


def resolved(site: ArchiveServer, options: SourceOptions, commit: str | None = None) -> Resolved:
    return resolve(behind(site.url(PATH)), token=None, options=options, commit=commit)


def fetched(found: Resolved, destination: Path, options: SourceOptions) -> list[int]:
    seen: list[int] = []
    entries = fetch(
        found,
        destination,
        token=None,
        options=options,
        on_progress=lambda done, total: seen.append(done),
    )
    assert entries == describe(destination)
    return seen


def refusal(code: str, call: Callable[[], object]) -> Failure:
    with pytest.raises(SourceFailure) as caught:
        call()
    failure = caught.value.failure
    assert failure.code == code, failure
    assert failure.hint
    assert failure.sentence.endswith(".")
    return failure


def kept_folder(options: SourceOptions) -> Path:
    assert options.cache_dir is not None
    return next((options.cache_dir / "archives").iterdir())


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    about = tarfile.TarInfo(name)
    about.type, about.linkname = kind, target
    return about
