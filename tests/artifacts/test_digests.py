import os
from pathlib import Path
from typing import Any

import pytest

from controlplane.artifacts import (
    ArtifactFailure,
    FileEntry,
    content_digest,
    describe,
    input_digest,
    input_document,
)
from controlplane.artifacts.digests import checked_path

ONE = FileEntry(path="a", size_bytes=1, sha256="00")
TWO = FileEntry(path="b", size_bytes=2, sha256="11")


def test_content_digest_ignores_the_order_of_files_and_nothing_else() -> None:
    assert content_digest([ONE, TWO]) == content_digest([TWO, ONE])
    renamed = FileEntry(path="c", size_bytes=1, sha256="00")
    assert content_digest([ONE, TWO]) != content_digest([renamed, TWO])
    assert content_digest([ONE, TWO]).startswith("sha256:")


def test_input_digest_changes_with_each_input() -> None:
    def digest(*inputs: Any) -> str:
        return input_digest(input_document(*inputs))

    same = digest("c1", {"a": 1, "b": 2}, {"torch": "2.13"})
    assert same == digest("c1", {"b": 2, "a": 1}, {"torch": "2.13"})
    assert same != digest("c2", {"a": 1, "b": 2}, {"torch": "2.13"})
    assert same != digest("c1", {"a": 1, "b": 3}, {"torch": "2.13"})
    assert same != digest("c1", {"a": 1, "b": 2}, {"torch": "2.12"})
    calibrated = digest("c1", {"a": 1, "b": 2}, {"torch": "2.13"}, {"revision": "r1"})
    assert same != calibrated
    assert calibrated != digest("c1", {"a": 1, "b": 2}, {"torch": "2.13"}, {"revision": "r2"})
    evaluated = digest("c1", {"a": 1, "b": 2}, {"torch": "2.13"}, None, {"revision": "r1"})
    assert evaluated not in (same, calibrated)


def test_describe_lists_nested_files_by_path(folder: Path) -> None:
    assert [each.path for each in describe(folder)] == [
        "1_Pooling/config.json",
        "config.json",
        "model.safetensors",
    ]


def test_describe_refuses_a_link_by_name(folder: Path) -> None:
    (folder / "secret.json").symlink_to("/etc/passwd")
    with pytest.raises(ArtifactFailure, match=r"`secret\.json`, which is a link"):
        describe(folder)


def test_describe_refuses_a_linked_folder(folder: Path, tmp_path: Path) -> None:
    (folder / "extra").symlink_to(tmp_path)
    with pytest.raises(ArtifactFailure, match="`extra`"):
        describe(folder)


def test_describe_refuses_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe.json")
    with pytest.raises(ArtifactFailure, match=r"`pipe\.json`"):
        describe(folder)


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../up.json", "a/../../b", "a//b", "./a", "a\\b", "a\nb", "a/"]
)
def test_a_name_that_is_no_plain_relative_path_is_refused(name: str) -> None:
    with pytest.raises(ArtifactFailure):
        checked_path(name)
