"""Whoever looks at files sees each from its first byte to its last, whatever they come from."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import SourceOptions, fetch, resolve
from tests.archive_server import ArchiveServer, packed
from tests.bucket_server import BucketServer
from tests.hub_server import HubServer

Place = tuple[dict[str, Any], dict[str, Any], str | None]
"""The checkpoint, options that lead to it and its secret."""


def local(tiny: Path, _stack: ExitStack) -> Place:
    roots = {"local_checkpoint_roots": (str(tiny.parent),)}
    return {"source": "LOCAL", "repo": str(tiny)}, roots, None


def hub(tiny: Path, stack: ExitStack) -> Place:
    server = stack.enter_context(HubServer())
    server.add("org/tiny", tiny)
    return {"source": "HF", "repo": "org/tiny"}, {"hf_endpoint": server.url}, None


def bucket(tiny: Path, stack: ExitStack) -> Place:
    server = stack.enter_context(BucketServer("S3"))
    server.put_files("weights", "tiny", {each.name: each.read_bytes() for each in tiny.iterdir()})
    place = {
        "source": "S3", "repo": "s3://weights/tiny", "runtime_secret_name": "bucket_login",
    }  # fmt: skip
    return place, {"s3_endpoint": server.endpoint}, server.secret


def archive(tiny: Path, stack: ExitStack) -> Place:
    site = stack.enter_context(ArchiveServer())
    site.files["/t.tar.gz"] = packed({each.name: each.read_bytes() for each in tiny.iterdir()})
    place = {"source": "REMOTE_URL", "repo": site.url("/t.tar.gz")}
    return place, {"allow_private_addresses": True}, None


@pytest.fixture(params=[local, hub, bucket, archive], ids=lambda make: make.__name__)
def place(request: pytest.FixtureRequest, tiny: Path) -> Iterator[Place]:
    make: Callable[[Path, ExitStack], Place] = request.param
    with ExitStack() as stack:
        yield make(tiny, stack)


def seen_in(place: Place, destination: Path, cache: Path) -> Mapping[str, str]:
    named, changes, secret = place
    checkpoint = CheckpointRepository.model_validate(named)
    options = SourceOptions(cache_dir=cache, timeout_seconds=60, **changes)
    digests: dict[str, Any] = {}

    def look(path: str) -> Any:
        digests[path] = hashlib.sha256()
        return digests[path]

    resolved = resolve(checkpoint, token=secret, options=options)
    fetched = fetch(
        resolved, destination, token=secret, options=options,
        on_progress=lambda _done, _total: None, look=look,
    )  # fmt: skip
    by_path = {path: digest.hexdigest() for path, digest in digests.items()}
    assert by_path == {each.path: each.sha256 for each in fetched}
    return by_path


def test_every_source_shows_whole_files(place: Place, tiny: Path, tmp_path: Path) -> None:
    outcome = seen_in(place, tmp_path / "first", tmp_path / "cache")
    weights = hashlib.sha256((tiny / "model.safetensors").read_bytes()).hexdigest()
    assert outcome["model.safetensors"] == weights, json.dumps(outcome)


def test_what_lies_in_the_cache_is_shown_again(place: Place, tmp_path: Path) -> None:
    first = seen_in(place, tmp_path / "first", tmp_path / "cache")
    assert seen_in(place, tmp_path / "second", tmp_path / "cache") == first
