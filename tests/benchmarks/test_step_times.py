"""What a step takes is told by the tokens in it, from one beginning to the next."""

import json
from pathlib import Path

from benchmarks.gpu.lookahead_parts.step_times import step_times


def _written(path: Path, steps: list[tuple[float, int]]) -> Path:
    lines: list[list[object]] = []
    for began, tokens in steps:
        lines += [
            ["execute_model", began, 0.004, tokens], ["_sample", began + 0.004, 0.001, None],
        ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_steps_of_as_many_tokens_are_told_by_their_median(tmp_path: Path) -> None:
    short = [(0.006 * n, 1) for n in range(6)]
    long = [(0.036 + 0.008 * n, 128) for n in range(6)]
    report = step_times(_written(tmp_path / "a.times", [*short, *long]))
    assert report == {
        "1": {
            "steps": 6, "whole_milliseconds": 6.0, "execute_model_milliseconds": 4.0,
            "sample_milliseconds": 1.0,
        },
        "128": {
            "steps": 5, "whole_milliseconds": 8.0, "execute_model_milliseconds": 4.0,
            "sample_milliseconds": 1.0,
        },
    }  # fmt: skip


def test_few_steps_and_pauses_between_requests_tell_nothing(tmp_path: Path) -> None:
    paused = [(5.0 * n, 1) for n in range(9)]
    assert step_times(_written(tmp_path / "a.times", paused)) == {}
    few = [(0.006 * n, 1) for n in range(4)]
    assert step_times(_written(tmp_path / "b.times", few)) == {}
    assert step_times(tmp_path / "none.times") == {}
