"""What is asked of a hub."""

from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import Resolved, SourceFailure, SourceOptions, fetch

Repository = Callable[..., CheckpointRepository]


def fetched(
    resolved: Resolved, destination: Path, options: SourceOptions, token: str | None = None
) -> list[tuple[int, int | None]]:
    seen: list[tuple[int, int | None]] = []
    files = fetch(
        resolved,
        destination,
        token=token,
        options=options,
        on_progress=lambda done, total: seen.append((done, total)),
    )
    assert files == describe(destination)
    return seen


def refusal(call: Callable[[], object]) -> SourceFailure:
    with pytest.raises(SourceFailure) as caught:
        call()
    assert caught.value.failure.hint
    return caught.value


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
