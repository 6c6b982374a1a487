"""TensorRT-LLM as a host has it, and what it says of its memory: a stand-in, as none runs here."""

import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.runtimes import RUNTIMES, Start
from controlplane.domain.spec import parse_text
from workers.runtimes.launchers import LAUNCHERS

LOG = """\
Memory used after loading model weights (inside torch) in memory usage profiling: 8.50 GiB
Peak memory during memory usage profiling (torch + non-torch): 10.00 GiB, available KV cache \
memory when calculating max tokens: 60.00 GiB, fraction is set 0.9, kv size is 65536. device \
total memory 79.11 GiB, , tmp kv_mem 0.13 GiB
"""
CONFIG = """\
model_name: example
resources: {accelerator: H100}
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository: {source: HF, repo: org/model}
    max_seq_len: 2048
enginehouse: {runtime: trtllm}
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """An interpreter that has TensorRT-LLM 1.2 and prints the command that it is started with."""
    path = tmp_path / "python"
    path.write_text('#!/bin/sh\n[ "$2" = -c ] && echo 1.2.1 || echo "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_it_is_installed_where_the_setting_names_an_interpreter_that_has_it(stand_in: Path) -> None:
    installation = LAUNCHERS["trtllm"].installed(
        {"TRTLLM_PYTHON": str(stand_in)}, own_python="python"
    )
    assert installation is not None
    assert (installation.python, installation.version) == (str(stand_in), "1.2")
    assert installation.environment == {"PYTHONPATH": ""}


@pytest.mark.parametrize("python", ["", "/nowhere/python", sys.executable])
def test_it_is_not_installed_where_no_interpreter_has_it(python: str) -> None:
    assert LAUNCHERS["trtllm"].installed({"TRTLLM_PYTHON": python}, own_python="python") is None


def test_its_command_starts_with_the_file_that_is_written_for_it(
    stand_in: Path, tmp_path: Path
) -> None:
    spec = parse_text(CONFIG).spec
    assert spec is not None
    start = Start(
        model_dir="/model", host="127.0.0.1", port=8000,
        python=str(stand_in), threads=1, memory_bytes=0, version="1.2",
    )  # fmt: skip
    launch = RUNTIMES["trtllm"].render(spec, CheckpointFacts(), start)
    parts = subprocess.check_output(launch.argv_in(str(tmp_path)), text=True).split()
    assert parts[:3] == ["-m", "tensorrt_llm.commands.serve", "/model"]
    assert parts[-2:] == ["--extra_llm_api_options", f"{tmp_path}/engine.yaml"]


def test_a_report_reads_weights_and_cache_from_the_log() -> None:
    report = LAUNCHERS["trtllm"].read_report({"/version": b'{"version": "1.2.1"}'}.get, LOG)
    assert report == {
        "engine": "trtllm",
        "version": "1.2.1",
        "weights_bytes": round(8.5 * 1024**3),
        "kv_cache_bytes": 60 * 1024**3,
        "kv_tokens": 60 * 1024**3 // 65_536,
    }


def test_an_engine_that_says_nothing_has_no_report() -> None:
    assert LAUNCHERS["trtllm"].read_report({}.get, "") is None


@pytest.mark.parametrize("number", ["9" * 400, "9" * 305, "1.2.3", "..", "0"])
def test_a_number_that_is_none_costs_no_report(number: str) -> None:
    log = re.sub(r"[\d.]+(?= GiB)", number, LOG)
    for summary_read in (log, log.replace("65536", "0" * 300 + ".1")):
        report = LAUNCHERS["trtllm"].read_report(
            {"/version": b'{"version": "1.2.1"}'}.get, summary_read
        )
        assert report is not None
        assert report["version"] == "1.2.1"
