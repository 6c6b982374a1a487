"""`manage.py check_config`: text, JSON and exit codes."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.domain.facts.test_checkpoints import LLAMA
from tests.tiny_checkpoint import make_tiny_checkpoint

CONFIG = """\
trt_llm:
  build:
    checkpoint_repository: {source: LOCAL, repo: /checkpoints/example}
    max_seq_len: 2048
"""


def _check(path: Path | str, *arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as exit_status:
        call_command("check_config", str(path), *arguments, stdout=out, stderr=err)
    assert isinstance(exit_status.value.code, int)
    return exit_status.value.code, out.getvalue(), err.getvalue()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def config_json(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    return path


def test_a_clean_config_exits_0_and_shows_effective_values(config: Path, config_json: Path) -> None:
    status, out, _ = _check(config, "--facts", str(config_json))
    assert status == 0
    assert "effective trt_llm.build.max_batch_size: 256 -> 8" in out
    assert out.rstrip().endswith("It can be built.")


def test_a_checkpoint_folder_serves_as_facts(config: Path, tmp_path: Path) -> None:
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    status, out, _ = _check(config, "--facts", str(folder), "--format", "json")
    content = json.loads(out)
    assert status == 0
    assert content["plan"]["capacity"]["estimated"] is False
    assert content["waiting"] == []


def test_missing_facts_wait_and_exit_1(config: Path) -> None:
    status, out, _ = _check(config, "--format", "json")
    content = json.loads(out)
    assert status == 1
    assert set(content) == {
        "findings", "waiting", "effective", "runtime", "runtime_version", "untested", "plan",
        "blocks_build",
    }  # fmt: skip
    assert content["waiting"][0]["facts"] == ["checkpoint"]


def test_errors_name_file_and_line_and_exit_1(config: Path) -> None:
    config.write_text(CONFIG + "    max_batchsize: 4\n")
    status, out, _ = _check(config)
    assert status == 1
    assert f"{config}:5:5: error EH002 unknown-key" in out
    assert "fix: Use `max_batch_size`" in out


@pytest.mark.parametrize("text", ["a: [", "- a"])
def test_text_that_is_no_config_exits_2(config: Path, text: str) -> None:
    config.write_text(text)
    assert _check(config)[0] == 2


def test_missing_files_exit_2_and_are_named(config: Path, tmp_path: Path) -> None:
    status, _, err = _check(tmp_path / "none.yaml")
    assert (status, "none.yaml" in err) == (2, True)
    broken = tmp_path / "broken.json"
    broken.write_text("[1]")
    status, _, err = _check(config, "--facts", str(broken))
    assert (status, "not a JSON object" in err) == (2, True)
    assert _check(config, "--facts", str(tmp_path / "none"))[0] == 2


def test_a_config_for_devices_that_are_not_here_exits_0(config: Path, config_json: Path) -> None:
    config.write_text("resources: {accelerator: H100}\n" + CONFIG)
    status, out, _ = _check(config, "--facts", str(config_json))
    assert status == 0
    assert out.rstrip().endswith("It can be built where H100 is there.")


def test_rules_that_wait_for_the_same_share_a_line(config: Path) -> None:
    _, out, _ = _check(config)
    (line,) = [line for line in out.splitlines() if ": waiting EH" in line]
    assert line.endswith(": Waits for the checkpoint's files.")
    assert "rules wait." in out
