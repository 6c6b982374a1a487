"""What the drafter's history is measured with holds no file twice."""

from pathlib import Path

from benchmarks.lookahead_parts.history_speed import each_once


def test_copies_and_other_versions_of_a_file_are_left_out() -> None:
    files = [
        ("a/util/retry.py", "def retry(): pass"),
        ("b/other/name.py", "def  retry():\n    pass"),
        ("c/_vendor/a/util/retry.py", "def retry(times): pass"),
        ("c/util/other.py", "x = 1"),
        ("d/util/empty.py", " \n"),
    ]
    entries = list(each_once((Path(path), text) for path, text in files))
    assert entries == ["def retry(): pass", "x = 1"]
