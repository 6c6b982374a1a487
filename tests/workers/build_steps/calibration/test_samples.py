"""Rows into samples: counted, cut, shuffled by the seed, and never in two parts at once."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from tests.workers.build_steps.calibration.conftest import lines, texts
from workers.build_steps.calibration.dataset import OpenDataset, Places
from workers.build_steps.calibration.names import GENERAL
from workers.build_steps.calibration.preview import main, preview
from workers.build_steps.calibration.samples import draw, draw_unseen, sample_keys
from workers.build_steps.failures import StepFailure

pytestmark = pytest.mark.engine


def write(folder: Path, *rows: Any) -> str:
    path = folder / "own.jsonl"
    path.write_bytes(lines(*rows))
    return str(path)


def test_rows_that_are_empty_short_or_repeated_are_counted(
    tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    odd = [{"text": ""}, {"text": "  \n"}, {"text": None}, {"text": "Short."}, *texts(1)]
    name = write(tmp_path, *texts(9), *odd)
    samples = draw(OpenDataset(name, places), tokenizer, size=64, max_length=64)
    assert (samples.counts.skipped_empty, samples.counts.skipped_short) == (3, 1)
    assert samples.counts.skipped_duplicate == 1
    assert samples.counts.rows_read == 14
    assert len(samples.calibration) + len(samples.held_out) == 9


def test_samples_are_cut_to_the_length_and_say_so(
    tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    name = write(tmp_path, *texts(20))
    samples = draw(OpenDataset(name, places), tokenizer, size=8, max_length=20)
    assert {len(each.tokens) for each in samples.calibration} == {20}
    assert all(each.truncated for each in samples.calibration)
    assert samples.counts.truncated == 16


def test_no_sample_is_both_calibrated_on_and_held_out(
    tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    dataset = OpenDataset(write(tmp_path, *texts(100)), places)
    samples = draw(dataset, tokenizer, size=64, max_length=64)
    assert (len(samples.calibration), len(samples.held_out)) == (64, 8)
    keys = set(sample_keys(samples.calibration))
    assert len(keys) == 64
    assert not keys & set(sample_keys(samples.held_out))
    assert samples.counts.rows_read == 72, "nothing is read that is not needed"
    unseen, _ = draw_unseen(dataset, tokenizer, size=50, max_length=64, used=keys)
    assert len(unseen) == 36
    assert not keys & set(sample_keys(unseen))


def test_a_seed_gives_the_same_samples_again_and_another_gives_others(
    tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    dataset = OpenDataset(write(tmp_path, *texts(100)), places)

    def drawn(seed: int) -> list[int]:
        samples = draw(dataset, tokenizer, size=64, max_length=64, seed=seed)
        return [each.row for each in samples.calibration]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_next_to_nothing_is_refused_with_the_counts(
    tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    name = write(tmp_path, *texts(3), {"text": "Short."})
    with pytest.raises(StepFailure) as raised:
        draw(OpenDataset(name, places), tokenizer, size=64, max_length=64)
    assert raised.value.failure.code == "EHC-TOO-FEW"
    assert "3 usable samples" in raised.value.failure.sentence
    assert "1 shorter than 16 tokens" in raised.value.failure.sentence


CONVERSATION = [
    {"role": "user", "content": "What is the capital of France, and how large is it?"},
    {"role": "assistant", "content": "Paris, with two million people."},
]


def test_conversations_go_through_the_chat_template(
    tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    name = write(tmp_path, {"messages": CONVERSATION})
    outcome = preview(name, tokenizer, places=places, max_length=128)
    assert outcome.column == "messages"
    text = outcome.samples[0]["text"]
    assert text.startswith("<|im_start|>user\nWhat is the capital")
    assert "<|im_start|>assistant\nParis" in text


def test_conversations_without_a_template_are_a_failure_of_their_own(
    tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    name = write(tmp_path, {"messages": CONVERSATION})
    tokenizer.chat_template = None
    with pytest.raises(StepFailure) as raised:
        preview(name, tokenizer, places=places, max_length=128)
    assert raised.value.failure.code == "EHC-NO-TEMPLATE"


@pytest.mark.parametrize("messages", ["hello", [{"content": "no role"}], {"role": "user"}])
def test_what_the_template_refuses_is_told_with_its_row(
    messages: Any, tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m.role is not defined %}"
        "{{ raise_exception('a turn has no role') }}{% endif %}{{ m.content }}{% endfor %}"
    )
    name = write(tmp_path, {"messages": CONVERSATION}, {"messages": messages})
    with pytest.raises(StepFailure) as raised:
        preview(name, tokenizer, places=places, max_length=128)
    assert raised.value.failure.code == "EHC-TEMPLATE"
    assert "row 2" in raised.value.failure.sentence


PAIRS = [
    {"prompt": "What is the capital of France?", "completion": "Paris, with two million people."},
    {"instruction": "Name the capital of", "input": "France", "output": "Paris, as ever."},
]


@pytest.mark.parametrize("pair", PAIRS, ids=["prompt", "instruction"])
def test_a_question_and_its_answer_go_through_the_chat_template(
    pair: dict[str, str], tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    outcome = preview(write(tmp_path, pair), tokenizer, places=places, max_length=128)
    assert outcome.column == next(iter(pair))
    text = outcome.samples[0]["text"]
    assert text.startswith("<|im_start|>user\n")
    assert "France" in text
    assert "<|im_start|>assistant\nParis" in text


@pytest.mark.parametrize("pair", PAIRS, ids=["prompt", "instruction"])
def test_without_a_template_a_question_and_its_answer_are_one_text(
    pair: dict[str, str], tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    tokenizer.chat_template = None
    outcome = preview(write(tmp_path, pair), tokenizer, places=places, max_length=128)
    text = outcome.samples[0]["text"]
    assert "im_start" not in text
    assert text.index("France") < text.index("Paris")


def test_a_question_without_an_answer_is_told_with_its_row(
    tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    name = write(tmp_path, PAIRS[0], {"prompt": "And of Spain?"})
    with pytest.raises(StepFailure) as raised:
        preview(name, tokenizer, places=places, max_length=128)
    assert raised.value.failure.code == "EHC-COLUMN"
    assert "Row 2" in raised.value.failure.sentence
    assert "`completion` or `response`" in raised.value.failure.sentence


def test_parquet_rows_keep_both_columns_of_a_pair(
    tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    path = tmp_path / "own.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([{**PAIRS[0], "image": b"ballast"}]), path)
    outcome = preview(str(path), tokenizer, places=places, max_length=128)
    assert "Paris" in outcome.samples[0]["text"]


def test_rows_without_text_name_their_columns(
    tmp_path: Path, places: Places, tokenizer: Any
) -> None:
    name = write(tmp_path, {"question": "a", "answer": "b"})
    with pytest.raises(StepFailure) as raised:
        preview(name, tokenizer, places=places, max_length=128)
    assert raised.value.failure.code == "EHC-COLUMN"
    assert "`answer`, `question`" in (raised.value.failure.hint or "")


def test_the_shipped_set_is_large_and_varied_enough(places: Places, tokenizer: Any) -> None:
    samples = draw(OpenDataset(GENERAL, places), tokenizer, size=64, max_length=256)
    assert len(samples.calibration) >= 60
    assert len(samples.held_out) >= 8
    assert samples.counts.skipped_short == samples.counts.skipped_duplicate == 0


def test_the_preview_is_printed_as_json_by_its_command(
    tmp_path: Path, tokenizer_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = write(tmp_path, {"text": ""}, *texts(9))
    arguments = ["--dataset", name, "--model", str(tokenizer_folder)]
    assert main([*arguments, "--root", str(tmp_path), "--max-length", "20"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert len(content["samples"]) == 5
    assert content["samples"][0]["row"] == 2
    assert content["samples"][0]["truncated"]
    assert content["skipped_empty"] == 1
    assert main(arguments) == 1
    assert json.loads(capsys.readouterr().out)["failure"]["code"] == "EHC-OUTSIDE-ROOTS"
