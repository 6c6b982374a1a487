"""Downloads from a hub: broken off, gone on with, shared and kept."""

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from controlplane.sources import SourceOptions, prune, resolve
from tests.hub_server import HubServer, Trouble
from tests.manual_clock import ManualClock
from tests.small_disks import small_files
from tests.sources.hub.asking import Repository, fetched, refusal


def test_a_broken_download_goes_on_where_it_stopped(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    hub.trouble("model.safetensors", Trouble(break_after=100_000, times=3))
    fetched(resolve(repository(), token=None, options=options), tmp_path / "model", options)
    ranges = [each.range for each in hub.asked_for("model.safetensors") if "/cdn/" in each.path]
    assert ranges == [None, "bytes=100000-", "bytes=200000-", "bytes=300000-"]


def test_a_download_goes_on_in_the_next_build_after_the_first_was_killed(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    first = replace(options, attempts=1)
    partial = options.cache_dir / "hub/org--tiny" / resolved.commit / "model.safetensors.partial"  # type: ignore[operator]
    partial.parent.mkdir(parents=True)
    partial.write_bytes((tiny / "model.safetensors").read_bytes()[:150_000])
    hub.trouble("model.safetensors", Trouble(status=503))
    assert (
        refusal(lambda: fetched(resolved, tmp_path / "one", first)).failure.code
        == "EHF-UNAVAILABLE"
    )
    assert partial.stat().st_size == 150_000
    hub.troubles.clear()
    fetched(resolved, tmp_path / "two", options)
    assert hub.asked_for("model.safetensors")[-1].range == "bytes=150000-"
    assert describe(tmp_path / "two") == describe(tiny)


def test_a_server_without_ranges_starts_the_file_again(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    hub.trouble("model.safetensors", Trouble(break_after=100_000, times=1))
    resolved = resolve(repository(), token=None, options=options)
    hub.trouble("model.safetensors", Trouble(no_ranges=True))
    partial = options.cache_dir / "hub/org--tiny" / resolved.commit / "model.safetensors.partial"  # type: ignore[operator]
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"stale")
    seen = fetched(resolved, tmp_path / "model", options)
    assert describe(tmp_path / "model") == describe(tiny)
    assert seen[-1] == (resolved.size_bytes, resolved.size_bytes)


def test_a_stale_first_part_is_thrown_away(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    partial = options.cache_dir / "hub/org--tiny" / resolved.commit / "model.safetensors.partial"  # type: ignore[operator]
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"x" * 1000)
    seen = fetched(resolved, tmp_path / "model", options)
    assert describe(tmp_path / "model") == describe(tiny)
    assert seen[-1] == (resolved.size_bytes, resolved.size_bytes)


@pytest.mark.parametrize("path", ["model.safetensors", "config.json"])
def test_bytes_that_are_not_the_listed_ones_are_never_kept(
    hub: HubServer,
    tiny: Path,
    options: SourceOptions,
    repository: Repository,
    tmp_path: Path,
    path: str,
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    hub.trouble(path, Trouble(altered=True))
    failure = refusal(lambda: fetched(resolved, tmp_path / "model", options)).failure
    assert failure.code == "EHF-CORRUPT"
    assert f"`{path}`" in failure.sentence
    assert not (tmp_path / "model" / path).exists()


def test_a_download_that_never_gets_on_is_given_up(
    hub: HubServer,
    tiny: Path,
    options: SourceOptions,
    clock: ManualClock,
    repository: Repository,
    tmp_path: Path,
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    hub.trouble("model.safetensors", Trouble(break_after=0))
    failure = refusal(lambda: fetched(resolved, tmp_path / "model", options)).failure
    assert failure.code == "EHF-BROKEN"
    assert clock.slept == [1.0, 2.0]


def test_a_silent_download_times_out(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    hub.trouble("model.safetensors", Trouble(silent=True))
    quick = replace(options, timeout_seconds=0.1, attempts=1)
    failure = refusal(lambda: fetched(resolved, tmp_path / "model", quick)).failure
    assert failure.code == "EHF-TIMEOUT"


def test_a_checkpoint_larger_than_the_disk_is_refused_before_it_starts(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    weights = replace(resolved.files[-1], size_bytes=shutil.disk_usage(tmp_path).total * 2)
    hub.requests.clear()
    huge = replace(resolved, files=(weights,))
    failure = refusal(lambda: fetched(huge, tmp_path / "model", options)).failure
    assert failure.code == "EHF-DISK-FULL"
    assert "free" in failure.sentence
    assert hub.requests == []


def test_a_disk_that_fills_up_is_said_and_nothing_is_placed(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    with small_files(100_000):
        failure = refusal(lambda: fetched(resolved, tmp_path / "model", options)).failure
    assert failure.code == "EHF-DISK-FULL"
    assert list((tmp_path / "model").glob("*")) == []


def test_two_builds_fetch_one_commit_at_once(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    hub.requests.clear()
    threads = [
        threading.Thread(target=fetched, args=(resolved, tmp_path / str(number), options))
        for number in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(describe(tmp_path / str(number)) == describe(tiny) for number in range(3))
    assert len([each for each in hub.requests if "/cdn/" in each.path]) == 1


def test_a_second_build_fetches_nothing_and_pruning_leaves_what_was_placed(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    fetched(resolved, tmp_path / "one", options)
    hub.requests.clear()
    fetched(resolved, tmp_path / "two", options)
    assert hub.requests == []
    assert options.cache_dir is not None
    assert prune(options.cache_dir, 3600) == 0
    assert prune(options.cache_dir, 0) == 1
    assert describe(tmp_path / "two") == describe(tiny)


def test_no_cache_folder_leaves_nothing_beside_the_model(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    fetched(resolved, tmp_path / "out" / "model", replace(options, cache_dir=None))
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["model"]
