"""The comparison of vLLM with the native engine: what agreement is, and what is started."""

from pathlib import Path

import pytest

from benchmarks.gpu.formats.agreement import beside, cosine
from benchmarks.gpu.formats.asking import launch_of
from benchmarks.gpu.formats.cases import CASES, TOOLS_TEMPLATE
from tests.tiny_checkpoint import make_tiny_checkpoint

NATIVE = [{"5": -0.1, "6": -3.0}, {"7": -0.5, "8": -0.6}, {"9": -0.2, "1": -2.0}]


def test_equal_answers_agree_at_every_place() -> None:
    assert beside(NATIVE, NATIVE) == {
        "tokens": 3, "same": 3, "largest_difference": 0.0, "gap_where_they_part": None,
    }  # fmt: skip


def test_where_two_answers_part_the_distance_of_the_first_two_is_told() -> None:
    other = [{"5": -0.12, "6": -3.0}, {"7": -0.62, "8": -0.5}, {"1": 0.0, "9": -9.0}]
    outcome = beside(NATIVE, other)
    assert (outcome["same"], outcome["gap_where_they_part"]) == (1, 0.1)
    assert outcome["largest_difference"] == pytest.approx(0.12)


def test_vectors_of_one_direction_have_a_cosine_of_one() -> None:
    assert cosine([1.0, 2.0], [2.0, 4.0]) == pytest.approx(1.0)
    assert cosine([1.0, 0.0], [0.0, 3.0]) == 0.0


def test_each_case_is_started_as_the_product_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_PYTHON", "python")
    folder = make_tiny_checkpoint(tmp_path / "model")
    words = {name: launch_of(CASES[name], name, folder, 1).argv for name in CASES}
    assert all("--enforce-eager" in each for each in words.values())
    assert "--max-logprobs" in words["vllm_args"]
    assert [name for name in CASES if "--kv-cache-dtype" in words[name]] == ["fp8_kv"]
    assert "pooling" in words["encoder"]
    assert "--pooler-config" not in words["encoder"]
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode": "mean"}')
    pooled = launch_of(CASES["encoder"], "encoder", folder, 1).argv
    assert pooled[pooled.index("--pooler-config") + 1] == '{"pooling_type": "MEAN"}'
    (folder / "chat_template.jinja").write_text(TOOLS_TEMPLATE)
    argv = launch_of(CASES["tools"], "tools", folder, 1).argv
    assert argv[argv.index("--tool-call-parser") + 1] == "hermes"
