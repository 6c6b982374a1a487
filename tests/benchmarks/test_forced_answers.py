"""vLLM's sampler is made to say recorded answers, whatever it would draw."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.gpu import forced_answers
from benchmarks.gpu.forced_answers import Answers, force

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.engine
ANSWERS = [([1, 2], [5, 6, 7]), ([3], [8, 9])]


def _runner(*rows: tuple[list[int], int]) -> SimpleNamespace:
    """Stand for vLLM's runner with prompts, and how many tokens each row has."""
    requests = {f"r{n}": SimpleNamespace(prompt_token_ids=row[0]) for n, row in enumerate(rows)}
    batch = SimpleNamespace(req_ids=[*requests], num_tokens_no_spec=[row[1] for row in rows])
    return SimpleNamespace(requests=requests, input_batch=batch)


def _said(runner: SimpleNamespace, drafts: list[int] | None) -> list[int]:
    lines = sum(drafts) + len(drafts) if drafts else len(runner.requests)
    logits = torch.zeros(lines, 12)
    logits[:, 11] = 3
    metadata = None if drafts is None else SimpleNamespace(num_draft_tokens=drafts)
    force(runner, logits, metadata, Answers(ANSWERS))
    return logits.argmax(-1).tolist()


def test_each_line_says_what_is_recorded_at_its_place() -> None:
    runner = _runner(([1, 2], 3), ([4], 1), ([3], 1))
    assert _said(runner, None) == [6, 11, 8]
    assert _said(runner, [3, 1, 0]) == [6, 7, 0, 0, 11, 11, 8]


def test_lines_that_are_not_those_of_the_rows_end_it() -> None:
    with pytest.raises(RuntimeError, match="3 lines of scores for 1 tokens"):
        force(_runner(([3], 1)), torch.zeros(3, 12), None, Answers(ANSWERS))


def test_the_runner_is_changed_when_vllm_imports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "its_runner.py").write_text(
        "class GPUModelRunner:\n    def _sample(self, logits, metadata):\n        return logits\n"
    )
    (tmp_path / "answers.json").write_text(json.dumps(ANSWERS))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("FORCED_ANSWERS", str(tmp_path / "answers.json"))
    monkeypatch.setattr(forced_answers, "RUNNER", "its_runner")
    forced_answers.install()
    forced_answers.install()
    from its_runner import GPUModelRunner

    runner = _runner(([3], 2))
    stood = SimpleNamespace(**vars(runner), sample_freely=lambda logits, _: logits.argmax(-1))
    assert GPUModelRunner._sample(stood, torch.zeros(1, 12), None).tolist() == [9]
    assert not [each for each in sys.meta_path if isinstance(each, forced_answers._Finder)]
