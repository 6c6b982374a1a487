"""Bars of a GPU are judged on what was kept, and the script of a GPU says when there is none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import encoders

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks/gpu/encoders.sh"
BGE = {
    "native_through_gateway_single_64_in_flight": {"requests_per_second": 1000.0},
    "native_through_gateway_single_256_in_flight": {"requests_per_second": 2000.0},
    "native_through_gateway_batch_32_64_in_flight": {
        "requests_per_second": 100.0, "texts_per_second": 3200.0,
    },
    "native_through_gateway_half_rate": {"p99_milliseconds": 40.0},
    "native_single_64_in_flight": {"requests_per_second": 9000.0},
    "vllm_single_64_in_flight": {"requests_per_second": 500.0},
    "vllm_single_256_in_flight": {"error": "it fell"},
}  # fmt: skip


def keep(root: Path, date: str, shapes: object) -> None:
    results = root / "benchmarks/results"
    results.mkdir(parents=True, exist_ok=True)
    (results / f"encoders-h200-{date}.json").write_text(json.dumps({"shapes": shapes}))


def test_each_shapes_newest_result_is_judged_by_its_best_rates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "ROOT", tmp_path)
    keep(tmp_path, "2026-11-01", {"bge_large": {}, "reranker_0_6b": BGE})
    keep(tmp_path, "2026-11-02", {"bge_large": BGE})
    outcome = encoders.on_a_gpu()
    assert outcome == {
        "gpu_results": ["encoders-h200-2026-11-01.json", "encoders-h200-2026-11-02.json"],
        "gpu_single_requests_per_second_through_gateway": 2000.0,
        "gpu_single_ratio_to_vllm": 4.0,
        "gpu_batch_32_texts_per_second_through_gateway": 3200.0,
        "gpu_qwen3_ratio_to_vllm": None,
        "gpu_reranker_ratio_to_vllm": 4.0,
        "gpu_half_rate_p99_milliseconds_through_gateway": 40.0,
    }
    assert outcome.keys() - {"gpu_results"} <= encoders.BARS.keys()


def test_where_nothing_was_kept_nothing_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "ROOT", tmp_path)
    outcome = encoders.on_a_gpu()
    assert outcome.pop("gpu_results") == []
    assert set(outcome.values()) == {None}


@pytest.mark.parametrize(("words", "status"), [([], 2), (["--out"], 2), (["--out", "{}"], 3)])
def test_the_script_of_a_gpu_says_what_it_lacks(
    words: list[str], status: int, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("dirname", "sed", "cut", "bash"):
        process = subprocess.run(["which", name], capture_output=True, text=True, check=True)
        (tools / name).symlink_to(process.stdout.strip())
    ended = subprocess.run(
        ["bash", str(SCRIPT), *(word.format(tmp_path / "out") for word in words)],
        env={**os.environ, "PATH": str(tools), "ENGINEHOUSE_PYTHON": sys.executable},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == status, ended.stderr
