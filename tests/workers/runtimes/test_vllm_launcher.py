"""vLLM as a host has it, and what it says of its memory."""

import sys
from pathlib import Path

import pytest

from workers.runtimes.launchers import LAUNCHERS

STAND_IN = Path(__file__).resolve().parents[3] / "benchmarks/gpu/rehearsal/stand_in_vllm.py"
LOG = """\
Model loading took 0.15 GiB memory and 2.5 seconds
Available KV cache memory: 66.02 GiB
GPU KV cache size: 3,076,000 tokens
"""
PAGE = b'vllm:cache_config_info{block_size="16",num_gpu_blocks="64"} 1.0\n'


def test_vllm_is_installed_where_the_setting_names_an_interpreter_that_has_it(
    tmp_path: Path,
) -> None:
    here = {"VLLM_PYTHON": str(STAND_IN), "ENGINE_CACHE_DIR": str(tmp_path)}
    installation = LAUNCHERS["vllm"].installed(here, own_python="python")
    assert installation is not None
    assert (installation.python, installation.version) == (str(STAND_IN), "0.25")
    assert installation.imports is not None
    # Of this program its Python finds the drafter alone.
    assert installation.environment == {
        "PYTHONPATH": str(installation.imports),
        "NUMBA_CACHE_DIR": str(tmp_path / "numba"),
    }
    assert [each.name for each in installation.imports.iterdir()] == ["workers"]


def test_vllm_is_installed_without_our_drafter_where_it_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "parts").write_text("no folder")
    here = {"VLLM_PYTHON": str(STAND_IN), "ENGINE_CACHE_DIR": str(tmp_path)}
    installation = LAUNCHERS["vllm"].installed(here, own_python="python")
    assert installation is not None
    assert installation.environment == {"PYTHONPATH": ""}


@pytest.mark.parametrize("python", ["", "/nowhere/python", sys.executable])
def test_vllm_is_not_installed_where_no_interpreter_has_it(python: str) -> None:
    assert LAUNCHERS["vllm"].installed({"VLLM_PYTHON": python}, own_python="python") is None


def test_a_report_reads_weights_and_cache_from_the_log() -> None:
    pages = {"/metrics": PAGE, "/version": b'{"version": "0.25.1"}'}
    assert LAUNCHERS["vllm"].read_report(pages.get, LOG) == {
        "engine": "vllm",
        "version": "0.25.1",
        "weights_bytes": round(0.15 * 1024**3),
        "kv_cache_bytes": round(66.02 * 1024**3),
        "kv_tokens": 3_076_000,
    }


def test_a_report_reads_the_cache_as_newer_versions_log_it() -> None:
    line = (
        "GPU KV cache size: 3,076,000 tokens, Maximum concurrency for 2,048 tokens per request: 9x"
    )
    report = LAUNCHERS["vllm"].read_report({}.get, line)
    assert report is not None
    assert report["kv_tokens"] == 3_076_000


def test_a_report_counts_blocks_where_the_log_is_gone() -> None:
    report = LAUNCHERS["vllm"].read_report({"/metrics": PAGE}.get, "")
    assert report is not None
    assert report["kv_tokens"] == 1024


def test_an_engine_that_says_nothing_has_no_report() -> None:
    assert LAUNCHERS["vllm"].read_report({}.get, "") is None
    assert LAUNCHERS["native"].read_report({"/info": b"no json"}.get, "") is None


@pytest.mark.parametrize("number", ["9" * 400, "9" * 305, "1.2.3", ",", "..", "٣", "0"])
def test_a_number_that_is_none_costs_no_report(number: str) -> None:
    log = (
        f"Model loading took {number} GiB memory\nAvailable KV cache memory: {number} GiB\n"
        f"GPU KV cache size: {number} tokens\n"
    )
    page = PAGE.replace(b"64", b"9" * 5000)
    pages = {"/metrics": page, "/version": b'{"version": "0.25.1"}'}
    report = LAUNCHERS["vllm"].read_report(pages.get, log)
    assert report is not None
    assert report["version"] == "0.25.1"
