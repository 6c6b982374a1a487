"""Downloads from buckets."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from controlplane.sources import Resolved, prune
from controlplane.sources.cache import commit_folder
from tests.bucket_server import Trouble
from tests.sources.buckets.asking import WEIGHTS, Asking


def _cached(asking: Asking, resolved: Resolved, name: str) -> Path:
    assert asking.options.cache_dir is not None
    return commit_folder(asking.options.cache_dir, resolved) / name


def test_a_file_that_is_gone_in_between_is_said(asking: Asking, tmp_path: Path) -> None:
    resolved = asking.resolve()
    del asking.server.buckets["weights"][WEIGHTS]
    asking.refusal("CHANGED", lambda: asking.fetch(tmp_path / "model", resolved))


def test_a_broken_download_goes_on_where_it_stopped(
    asking: Asking, tiny: Path, tmp_path: Path
) -> None:
    resolved = asking.resolve()
    asking.server.trouble(WEIGHTS, Trouble(break_after=100_000, times=3))
    asking.fetch(tmp_path / "model", resolved)
    ranges = [each.range for each in asking.server.asked_for(WEIGHTS)]
    assert ranges == [None, "bytes=100000-", "bytes=200000-", "bytes=300000-"]
    assert describe(tmp_path / "model") == describe(tiny)


def test_a_download_goes_on_in_the_next_build(asking: Asking, tiny: Path, tmp_path: Path) -> None:
    resolved = asking.resolve()
    asking.fetch(tmp_path / "first", replace(resolved, files=resolved.files[:1]))
    partial = _cached(asking, resolved, "model.safetensors.partial")
    partial.write_bytes(asking.files["model.safetensors"][:150_000])
    asking.server.trouble(WEIGHTS, Trouble(break_after=0))
    asking.refusal("BROKEN", lambda: asking.fetch(tmp_path / "one", resolved))
    assert partial.stat().st_size == 150_000
    asking.server.troubles.clear()
    asking.fetch(tmp_path / "two", resolved)
    assert asking.server.asked_for(WEIGHTS)[-1].range == "bytes=150000-"
    assert describe(tmp_path / "two") == describe(tiny)


def test_a_second_build_fetches_nothing_and_unused_downloads_are_pruned(
    asking: Asking, tiny: Path, tmp_path: Path
) -> None:
    resolved = asking.resolve()
    asking.fetch(tmp_path / "one", resolved)
    asking.server.requests.clear()
    asking.fetch(tmp_path / "two", resolved)
    assert asking.server.requests == []
    assert asking.options.cache_dir is not None
    assert prune(asking.options.cache_dir, 3600) == 0
    assert prune(asking.options.cache_dir, 0) == 1
    assert describe(tmp_path / "two") == describe(tiny)


@pytest.mark.parametrize("asking", ["S3", "GCS"], indirect=True)
def test_bytes_that_are_not_the_listed_ones_are_never_kept(asking: Asking, tmp_path: Path) -> None:
    resolved = asking.resolve()
    asking.server.trouble(WEIGHTS, Trouble(altered=True))
    refusal = asking.refusal("CORRUPT", lambda: asking.fetch(tmp_path / "model", resolved))
    assert "md5" in refusal.failure.sentence
    assert not (tmp_path / "model/model.safetensors").exists()


def test_etags_that_are_no_digests_are_not_taken_for_them(
    asking: Asking, tiny: Path, tmp_path: Path
) -> None:
    for number, (name, content) in enumerate(asking.files.items()):
        asking.server.put("weights", f"llama/v1/{name}", content, etag=f"{number:032x}")
    asking.fetch(tmp_path / "model")
    assert describe(tmp_path / "model") == describe(tiny)


def test_a_checkpoint_larger_than_the_disk_is_refused_before_it_starts(
    asking: Asking, tmp_path: Path
) -> None:
    resolved = asking.resolve()
    huge = replace(resolved, files=(replace(resolved.files[0], size_bytes=2**60),))
    asking.server.requests.clear()
    asking.refusal("DISK-FULL", lambda: asking.fetch(tmp_path / "model", huge))
    assert asking.server.requests == []
