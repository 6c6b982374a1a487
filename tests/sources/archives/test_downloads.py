"""Archives fetched, gone on with and kept."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from controlplane.sources import SourceOptions, prune, resolve
from tests.archive_server import ArchiveServer, Trouble, packed
from tests.manual_clock import ManualClock
from tests.small_disks import small_files
from tests.sources.archives.asking import PATH, behind, fetched, kept_folder, refusal, resolved


def test_a_broken_download_goes_on_where_it_stopped(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes], tmp_path: Path
) -> None:
    site.files[PATH] = packed(files)
    site.troubles[PATH] = Trouble(break_after=100_000, times=3)
    resolution = resolved(site, options)
    ranges = [each.range for each in site.requests]
    assert ranges == [None, "bytes=100000-", "bytes=200000-", "bytes=300000-"]
    fetched(resolution, tmp_path / "model", options)


def test_a_download_goes_on_in_the_next_build(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes], clock: ManualClock
) -> None:
    site.files[PATH] = packed(files)
    resolved(site, options)
    folder = kept_folder(options)
    # As if the process had been killed in the middle.
    (folder / "partial").write_bytes((folder / "archive").read_bytes()[:150_000])
    for name in ("archive", "archive.json"):
        (folder / name).unlink()
    site.requests.clear()
    site.troubles[PATH] = Trouble(break_after=0)
    refusal("EUR-BROKEN", lambda: resolved(site, options))
    assert clock.slept == [1.0, 2.0]
    site.troubles.clear()
    assert resolved(site, options)
    assert {each.range for each in site.requests} == {"bytes=150000-"}


def test_a_whole_part_is_not_fetched_again(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed(files)
    resolved(site, options)
    folder = kept_folder(options)
    # As if the process had been killed just before the archive got its name.
    (folder / "archive").rename(folder / "partial")
    (folder / "archive.json").unlink()
    site.requests.clear()
    assert resolved(site, options)
    assert [each.range for each in site.requests] == [f"bytes={len(site.files[PATH])}-"]


def test_an_archive_that_changes_during_the_download_is_fetched_anew(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    newer = packed({**files, "generation_config.json": b"{}"})
    site.files[PATH] = packed(files)
    site.troubles[PATH] = Trouble(break_after=100_000, times=1)

    def change_it(done: int, total: int | None) -> None:
        site.files[PATH] = newer

    address = behind(site.url(PATH))
    resolution = resolve(address, token=None, options=options, on_progress=change_it)
    assert resolution.commit == hashlib.sha256(newer).hexdigest()
    assert [each.range for each in site.requests] == [None, "bytes=100000-"]


@pytest.mark.parametrize("lacks", ["has_ranges", "has_etags", "announces_length"])
def test_a_server_that_can_less_is_fetched_from_all_the_same(
    site: ArchiveServer,
    options: SourceOptions,
    files: dict[str, bytes],
    tiny: Path,
    tmp_path: Path,
    lacks: str,
) -> None:
    setattr(site, lacks, False)
    site.files[PATH] = packed(files)
    if lacks != "announces_length":  # a body without a length cannot be told from a broken one
        site.troubles[PATH] = Trouble(break_after=100_000, times=1)
    fetched(resolved(site, options), tmp_path / "model", options)
    assert describe(tmp_path / "model") == describe(tiny)


def test_a_second_build_asks_and_fetches_nothing_and_unused_archives_are_pruned(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes], tmp_path: Path
) -> None:
    site.files[PATH] = packed(files)
    first = resolved(site, options)
    seen: list[int] = []
    again = resolve(
        behind(f"{site.url(PATH)}?X-Amz-Signature=another"),
        token=None,
        options=options,
        on_progress=lambda done, total: seen.append(done),
    )
    assert again.commit == first.commit
    assert seen == []
    site.requests.clear()
    assert resolved(site, options, commit=first.commit) == first
    assert site.requests == []
    assert options.cache_dir is not None
    assert prune(options.cache_dir, 3600) == 0
    fetched(first, tmp_path / "model", options)
    assert prune(options.cache_dir, 0) == 1


def test_two_archives_that_only_a_parameter_tells_apart_are_kept_apart(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed(files)
    site.has_etags = False
    for query in ("?id=1&X-Amz-Date=1", "?id=2&X-Amz-Date=1", "?id=2&X-Amz-Date=2&sig=3"):
        resolve(behind(f"{site.url(PATH)}{query}"), token=None, options=options)
    assert options.cache_dir is not None
    assert len(list((options.cache_dir / "archives").iterdir())) == 2


def test_a_pinned_archive_that_is_another_now_is_not_built_from(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed(files)
    pinned = resolved(site, options).commit
    site.files[PATH] = packed({**files, "generation_config.json": b"{}"})
    resolved(site, options)
    outcome = refusal("EUR-CHANGED", lambda: resolved(site, options, commit=pinned))
    assert pinned in outcome.sentence


def test_a_checkpoint_larger_than_the_disk_is_refused_before_the_download(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes], tmp_path: Path
) -> None:
    site.files[PATH] = packed(files)
    resolution = resolved(site, options)
    huge = replace(resolution, files=(replace(resolution.files[0], size_bytes=2**60),))
    refusal("EUR-DISK-FULL", lambda: fetched(huge, tmp_path / "model", options))


def test_a_disk_that_fills_up_is_said(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed(files)
    with small_files(100_000):
        refusal("EUR-DISK-FULL", lambda: resolved(site, options))
