"""A JSON file of the checkpoint that no loader can read is named at `inspect`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.domain.failures import Blame
from controlplane.sources import SourceFailure
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.build_steps.quantizing import run_here
from tests.workers.build_steps.supervising import spec_of
from workers.build_steps.calibration.tokenizer import open_tokenizer
from workers.build_steps.failures import StepFailure
from workers.build_steps.json_files import check_json_files
from workers.engine.errors import CheckpointRefused
from workers.engine.tokenizer import load_tokenizer

NESTED = "[" * 200_000 + "]" * 200_000
READ = (
    "added_tokens.json",
    "generation_config.json",
    "preprocessor_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "1_Pooling/config.json",
)


def refused(folder: Path) -> str:
    with pytest.raises(SourceFailure) as raised:
        check_json_files(folder, "org/model")
    failure = raised.value.failure
    assert (failure.code, failure.blame) == ("EHS-BAD-FILE", Blame.CHECKPOINT)
    return failure.sentence


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (NESTED, "nests lists or objects too deeply"),
        ('{"a":' * 110 + "1" + "}" * 110, "nests lists or objects more than 100 deep"),
        ("[]", "it is not a JSON object"),
        ("null", "it is not a JSON object"),
        ('{"a": ', "it is not JSON"),
        ("", "it is not JSON"),
        ('{"a": 1}'.encode("utf-16"), "it is not JSON"),
        ("\ufeff{}", "it is not JSON"),
        (b'{"a": "\xff"}', "it is not JSON"),
    ],
)
def test_a_file_that_no_loader_can_read_is_told_by_name_and_reason(
    tmp_path: Path, name: str, content: str | bytes, reason: str
) -> None:
    statement = refused(write(tmp_path, name, content))
    assert statement.startswith(f"`{name}` of `org/model` cannot be read: ")
    assert reason in statement


def test_a_list_of_modules_has_to_be_a_list(tmp_path: Path) -> None:
    check_json_files(write(tmp_path, "modules.json", "[]"), "org/model")
    assert "not a JSON list" in refused(write(tmp_path, "modules.json", "{}"))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_setting_that_is_no_number_is_told_by_name(tmp_path: Path, value: str) -> None:
    write(tmp_path, "config.json", f'{{"rope": [{{"factor": {value}}}]}}')
    assert "`rope[0].factor` is infinite or not a number" in refused(tmp_path)


def test_a_limit_of_time_steps_may_be_infinite_as_published_models_have_it(tmp_path: Path) -> None:
    write(tmp_path, "config.json", '{"time_step_limit": [0.0, Infinity]}')
    check_json_files(tmp_path, "org/model")
    write(tmp_path, "config.json", '{"time_step_limit": [0.0, NaN]}')
    assert "time_step_limit[1]" in refused(tmp_path)


def test_a_word_of_the_quantization_that_nobody_knows_is_told_by_name(tmp_path: Path) -> None:
    text = '{"quantization": {"quant_algo": "FP8", "weight_bits": 3}}'
    assert "`quantization.weight_bits`" in refused(write(tmp_path, "hf_quant_config.json", text))


def test_a_file_too_large_to_be_one_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "vocab.json").open("wb") as sparse:
        sparse.truncate(300 * 1024**2)
    assert "it has 314,572,800 bytes" in refused(tmp_path)


def test_a_file_that_no_loader_reads_may_hold_anything(tmp_path: Path) -> None:
    check_json_files(write(tmp_path, "notes.json", NESTED), "org/model")


def test_inspect_looks_at_them(tmp_path: Path) -> None:
    folder = make_tiny_checkpoint(tmp_path / "roots" / "tiny")
    write(folder, "special_tokens_map.json", NESTED)
    options = {"local_checkpoint_roots": [str(folder.parent)], "memory_bytes": 2_000_000_000}
    run_here("fetch", spec_of(str(folder)), tmp_path / "fetch", options)
    with pytest.raises(SourceFailure, match=r"special_tokens_map\.json"):
        run_here(
            "inspect", spec_of(str(folder)), tmp_path / "inspect", options, fetch=tmp_path / "fetch"
        )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer.json", NESTED),
        ("tokenizer.json", json.dumps({"model": 5})),
        ("tokenizer_config.json", json.dumps({"added_tokens_decoder": {"a": 7}})),
        ("special_tokens_map.json", NESTED),
    ],
)
@pytest.mark.parametrize(
    ("load", "refusal"), [(load_tokenizer, CheckpointRefused), (open_tokenizer, StepFailure)]
)
def test_whatever_a_tokenizer_breaks_at_is_told_as_the_checkpoints(
    tmp_path: Path,
    name: str,
    content: str,
    load: Callable[[Path], object],
    refusal: type[Exception],
) -> None:
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    with pytest.raises(refusal):
        load(write(folder, name, content))
