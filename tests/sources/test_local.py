import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import SourceFailure, SourceOptions, fetch, resolve

Repository = Callable[..., CheckpointRepository]


@pytest.fixture
def root(tmp_path: Path, tiny: Path) -> Path:
    root = tmp_path / "open"
    shutil.copytree(tiny, root / "tiny")
    return root


@pytest.fixture
def options(root: Path) -> SourceOptions:
    return SourceOptions(local_checkpoint_roots=(str(root),))


def refused(checkpoint: CheckpointRepository, options: SourceOptions) -> SourceFailure:
    with pytest.raises(SourceFailure) as caught:
        resolve(checkpoint, token=None, options=options)
    assert caught.value.failure.hint
    return caught.value


def test_a_folder_inside_a_root_is_copied_not_linked(
    root: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    resolved = resolve(repository(str(root / "tiny"), source="LOCAL"), token=None, options=options)
    seen: list[tuple[int, int | None]] = []
    files = fetch(
        resolved,
        tmp_path / "model",
        token=None,
        options=options,
        on_progress=lambda done, total: seen.append((done, total)),
    )
    assert files == describe(tmp_path / "model") == describe(root / "tiny")
    assert seen[-1] == (resolved.size_bytes, resolved.size_bytes)
    assert not (tmp_path / "model/config.json").samefile(root / "tiny/config.json")


def test_a_path_may_be_named_from_the_root(
    root: Path, options: SourceOptions, repository: Repository
) -> None:
    resolved = resolve(repository("tiny", source="LOCAL"), token=None, options=options)
    assert resolved.folder == root / "tiny"


def test_the_commit_changes_with_the_files(
    root: Path, options: SourceOptions, repository: Repository
) -> None:
    request = repository("tiny", source="LOCAL")
    before = resolve(request, token=None, options=options)
    assert resolve(request, token=None, options=options, commit=before.commit) == before
    (root / "tiny/config.json").write_text("{}")
    with pytest.raises(SourceFailure) as caught:
        resolve(request, token=None, options=options, commit=before.commit)
    assert caught.value.failure.code == "EHL-CHANGED"


def test_a_file_written_to_during_the_build_is_named(
    root: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    resolved = resolve(repository("tiny", source="LOCAL"), token=None, options=options)
    (root / "tiny/config.json").write_text("{}")
    with pytest.raises(SourceFailure, match=r"config\.json` changed") as caught:
        fetch(
            resolved,
            tmp_path / "model",
            token=None,
            options=options,
            on_progress=lambda done, total: None,
        )
    assert caught.value.failure.code == "EHL-CHANGED"


@pytest.mark.parametrize("path", ["/etc", "../outside", "/nowhere/at/all"])
def test_a_path_outside_the_roots_is_refused_alike_whether_it_exists(
    root: Path, options: SourceOptions, repository: Repository, path: str
) -> None:
    (root.parent / "outside").mkdir()
    failure = refused(repository(path, source="LOCAL"), options).failure
    assert failure.code == "EHL-OUTSIDE-ROOTS"
    assert f"`{path}`" in failure.sentence


def test_a_linked_folder_that_leads_outside_is_refused(
    root: Path, options: SourceOptions, repository: Repository, tiny: Path
) -> None:
    (root / "link").symlink_to(tiny)
    assert refused(repository("link", source="LOCAL"), options).failure.code == "EHL-OUTSIDE-ROOTS"


def test_a_linked_file_that_leads_outside_is_refused(
    root: Path, options: SourceOptions, repository: Repository
) -> None:
    (root / "tiny/vocab.json").symlink_to("/etc/hostname")
    failure = refused(repository("tiny", source="LOCAL"), options).failure
    assert failure.code == "EHL-OUTSIDE-ROOTS"
    assert "vocab.json" in failure.sentence


def test_links_between_roots_are_followed(
    root: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    (root / "blobs").mkdir()
    shutil.move(root / "tiny/model.safetensors", root / "blobs/abc")
    (root / "tiny/model.safetensors").symlink_to("../blobs/abc")
    resolved = resolve(repository("tiny", source="LOCAL"), token=None, options=options)
    fetch(
        resolved,
        tmp_path / "model",
        token=None,
        options=options,
        on_progress=lambda done, total: None,
    )
    assert (tmp_path / "model/model.safetensors").read_bytes() == (root / "blobs/abc").read_bytes()


def test_a_link_put_in_place_after_the_check_is_not_followed(
    root: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    resolved = resolve(repository("tiny", source="LOCAL"), token=None, options=options)
    (root / "tiny/config.json").unlink()
    (root / "tiny/config.json").symlink_to("/etc/passwd")
    with pytest.raises(SourceFailure, match="changed"):
        fetch(
            resolved,
            tmp_path / "model",
            token=None,
            options=options,
            on_progress=lambda done, total: None,
        )
    assert not (tmp_path / "model/config.json").exists()


def test_no_open_folder_names_the_setting(repository: Repository) -> None:
    failure = refused(repository("/data/model", source="LOCAL"), SourceOptions()).failure
    assert failure.code == "EHL-OUTSIDE-ROOTS"
    assert "LOCAL_CHECKPOINT_ROOTS" in (failure.hint or "")


def test_a_missing_folder_says_where_it_was_looked_for(
    root: Path, options: SourceOptions, repository: Repository
) -> None:
    for path in ("nothing", str(root / "nothing")):
        failure = refused(repository(path, source="LOCAL"), options).failure
        assert failure.code == "EHL-MISSING"
        assert path in failure.sentence


def test_a_folder_without_config_is_no_checkpoint(
    root: Path, options: SourceOptions, repository: Repository
) -> None:
    (root / "tiny/config.json").unlink()
    failure = refused(repository("tiny", source="LOCAL"), options).failure
    assert failure.code == "EHL-NOT-A-CHECKPOINT"
    assert "`config.json`" in failure.sentence


def test_a_disk_without_room_is_found_before_copying(
    root: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    size = shutil.disk_usage(tmp_path).free * 2
    with (root / "tiny/model.safetensors").open("r+b") as file:
        try:
            os.truncate(file.fileno(), min(size, 2**43))
        except OSError:
            pytest.skip("this file system has no sparse files that large")
    resolved = resolve(repository("tiny", source="LOCAL"), token=None, options=options)
    with pytest.raises(SourceFailure) as caught:
        fetch(
            resolved,
            tmp_path / "model",
            token=None,
            options=options,
            on_progress=lambda done, total: None,
        )
    assert caught.value.failure.code == "EHL-DISK-FULL"
    assert list((tmp_path / "model").iterdir()) == []
