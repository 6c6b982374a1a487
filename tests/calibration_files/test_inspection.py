"""Uploaded files are read in a process of their own, whole, and refused at the place."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from controlplane.artifacts import ArtifactFailure
from controlplane.calibration_files import BadFile, Inspection, inspect_file
from controlplane.calibration_files.inspection import inspect_rows
from tests.small_disks import small_files

LIMIT = 1_000_000
TEXT = "The capital of France is Paris, says line number {}."
CHAT = [
    {"role": "user", "content": "Where is my parcel?"},
    {"role": "assistant", "content": "Here"},
]


def texts(count: int) -> list[dict[str, Any]]:
    return [{"text": TEXT.format(number)} for number in range(count)]


def lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def inspect(folder: Path, name: str, content: bytes) -> Inspection:
    (folder / "upload").write_bytes(content)
    ending = Path(name).suffix
    return inspect_rows(
        folder / "upload", ending, rewritten=folder / "rewritten", limit_bytes=LIMIT
    )


def refusal(folder: Path, name: str, content: bytes) -> Any:
    with pytest.raises(BadFile) as raised:
        inspect(folder, name, content)
    return raised.value.problem


def as_parquet(folder: Path, rows: list[dict[str, Any]], **options: Any) -> bytes:
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "p", **options)
    return (folder / "p").read_bytes()


def test_empty_and_short_rows_are_counted_and_the_first_ones_kept(tmp_path: Path) -> None:
    rows = [{"text": ""}, {"text": None}, {"text": "Title"}, *texts(12)]
    inspection = inspect(tmp_path, "a.jsonl", b"\n" + lines(rows))
    assert (inspection.column, inspection.rows, inspection.empty_rows, inspection.short_rows) == (
        "text",
        15,
        2,
        1,
    )
    assert inspection.head[:2] == ["Title", TEXT.format(0)]
    assert len(inspection.head) == 10
    assert not inspection.normalized


def test_arrays_paragraphs_and_byte_order_marks_become_one_object_per_line(tmp_path: Path) -> None:
    paragraphs = "\n\n".join(TEXT.format(number) for number in range(9)).encode()
    for name, content in (
        ("a.json", json.dumps(texts(9)).encode()),
        ("a.txt", paragraphs),
        ("a.jsonl", b"\xef\xbb\xbf" + lines(texts(9))),
        ("a.json", lines(texts(9))),
    ):
        inspection = inspect(tmp_path, name, content)
        assert (inspection.rows, inspection.normalized) == (9, True)
        kept = (tmp_path / "rewritten").read_text().splitlines()
        assert [json.loads(each) for each in kept] == texts(9)


PAIR = {"prompt": "Where is my parcel, please?", "completion": "On its way to you."}
TASK = {"instruction": "Summarize this.", "input": "A parcel is late.", "output": "It is late."}


@pytest.mark.parametrize(("pair", "column"), [(PAIR, "prompt"), (TASK, "instruction")])
@pytest.mark.parametrize("ending", [".jsonl", ".json", ".parquet"])
def test_pairs_are_kept_with_all_their_columns(
    pair: dict[str, str], column: str, ending: str, tmp_path: Path
) -> None:
    rows = [{**pair, "id": str(number)} for number in range(9)]
    content = {
        ".jsonl": lines(rows), ".json": json.dumps(rows).encode(),
        ".parquet": as_parquet(tmp_path, rows),
    }[ending]  # fmt: skip
    inspection = inspect(tmp_path, f"a{ending}", content)
    assert (inspection.column, inspection.rows, inspection.empty_rows) == (column, 9, 0)
    assert all(each in inspection.head[0] for each in pair.values())
    if inspection.normalized:
        kept = json.loads((tmp_path / "rewritten").read_text().splitlines()[0])
        assert kept == pair


def test_a_pair_without_its_answer_is_refused_at_its_line(tmp_path: Path) -> None:
    problem = refusal(tmp_path, "a.jsonl", lines([PAIR] * 9 + [{"prompt": "And now?"}]))
    assert problem.line == 10
    assert "`completion` or `response`" in problem.message


def test_parquet_with_either_column_is_read_without_its_ballast(tmp_path: Path) -> None:
    chats = [{"messages": CHAT, "image": b"x" * 100} for _ in range(10)]
    inspection = inspect(tmp_path, "a.parquet", as_parquet(tmp_path, chats))
    assert (inspection.column, inspection.rows, inspection.normalized) == ("messages", 10, False)
    assert inspection.head[0] == "user: Where is my parcel?\nassistant: Here"
    assert inspect(tmp_path, "a.parquet", as_parquet(tmp_path, texts(8))).column == "text"


@pytest.mark.parametrize(
    ("name", "content", "line", "words"),
    [
        ("a.jsonl", b"", None, "no rows"),
        ("a.jsonl", lines(texts(3)), None, "3 rows with text; a build needs at least 8"),
        ("a.jsonl", lines(texts(2)) + b'{"text": "Gr\xfc\xdfe"}\n', 3, "byte 0xfc at place 13"),
        ("a.jsonl", "a".encode("utf-16"), 1, "UTF-16"),
        ("a.jsonl", lines(texts(9)) + b"{half", 10, "no JSON object"),
        ("a.jsonl", b"[1]\n", 1, "it is a list"),
        ("a.jsonl", b"[" * 100_000, 1, "no JSON object"),
        ("a.jsonl", b'{"text": "' + b"x" * 8_000_001, 1, "more than 8 MB"),
        ("a.jsonl", lines([{"question": "q", "answer": "a"}]), 1, "has `answer`"[4:]),
        ("a.jsonl", lines([*texts(8), {"body": "b"}]), 9, "no `text`, which the rows before"),
        ("a.jsonl", lines([{"text": 7}]), 1, "is a number, not a text"),
        ("a.jsonl", lines([{"messages": "hello"}]), 1, "is a text, not a list of turns"),
        ("a.jsonl", lines([{"messages": [{"content": "x"}]}]), 1, "turn 1 without a `role`"),
        ("a.jsonl", b'{"text": "\\ud800"}\n', 1, "half a surrogate pair"),
        ("a.json", b'[{"text": "a"}, 7]', None, "entry 2 is a int"),
        ("a.json", b'[{"text": ', None, "no JSON array"),
        ("a.parquet", b"PAR1 and then nothing", None, "no Parquet file"),
        ("a.txt", b"one\ntwo\nthree\n", None, "1 rows with text"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, name: str, content: bytes, line: int | None, words: str
) -> None:
    problem = refusal(tmp_path, name, content)
    assert problem.line == line
    assert words in problem.message
    assert problem.hint


def test_a_truncated_and_a_swollen_parquet_file_are_refused(tmp_path: Path) -> None:
    whole = as_parquet(tmp_path, texts(100))
    assert "no Parquet" in refusal(tmp_path, "a.parquet", whole[: len(whole) // 2]).message
    damaged = whole[:20] + b"\xff" * 200 + whole[220:]
    assert refusal(tmp_path, "a.parquet", damaged).code == "calibration_parquet"
    bomb = as_parquet(
        tmp_path, [{"text": f"{n}" + "x" * 1_000_000} for n in range(12)], compression="zstd"
    )
    assert len(bomb) < LIMIT
    assert refusal(tmp_path, "a.parquet", bomb).code == "calibration_too_large"
    assert "has `image`" in refusal(
        tmp_path, "a.parquet", as_parquet(tmp_path, [{"image": b"x"}])
    ).message.replace("it has", "has")


@pytest.mark.process
def test_a_child_says_the_same_and_the_parent_reads_no_parquet_itself(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes(as_parquet(tmp_path, texts(20)))
    outcome = inspect_file(path, "a.PARQUET", rewritten=tmp_path / "r", limit_bytes=LIMIT)
    assert (outcome.rows, outcome.column) == (20, "text")
    path.write_bytes(lines(texts(2)) + b"\xff\n")
    with pytest.raises(BadFile, match="Line 3 is not UTF-8"):
        inspect_file(path, "a.jsonl", rewritten=tmp_path / "r", limit_bytes=LIMIT)
    with pytest.raises(BadFile, match="none of"):
        inspect_file(path, "a.csv", rewritten=tmp_path / "r", limit_bytes=LIMIT)
    with pytest.raises(BadFile, match="ended with status"):
        inspect_file(tmp_path / "gone", "a.jsonl", rewritten=tmp_path / "r", limit_bytes=LIMIT)
    imported = "import sys, controlplane.calibration_files; print('pyarrow' in sys.modules)"
    process = subprocess.run([sys.executable, "-c", imported], capture_output=True, check=True)
    assert process.stdout == b"False\n"


@pytest.mark.process
def test_a_full_disk_is_no_fault_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes(json.dumps(texts(5000)).encode())
    with small_files(50_000), pytest.raises(ArtifactFailure, match="full"):
        inspect_file(path, "a.json", rewritten=tmp_path / "r", limit_bytes=LIMIT)
