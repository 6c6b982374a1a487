"""In vLLM each row drafts from its own text, wherever it moves, in the form that vLLM calls."""

import json
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from workers.lookahead import vllm_proposer
from workers.lookahead.vllm_proposer import LookaheadProposer

CALLS = json.loads((Path(__file__).parent / "vllm_calls.json").read_text())
LONGEST = 4096
PERIOD = list(range(100, 140))


def _proposer(tokens: int = 7, budget: int = 8192) -> LookaheadProposer:
    config = SimpleNamespace(
        speculative_config=SimpleNamespace(num_speculative_tokens=tokens),
        compilation_config=SimpleNamespace(),
        model_config=SimpleNamespace(max_model_len=LONGEST),
        scheduler_config=SimpleNamespace(max_num_batched_tokens=budget),
    )
    return LookaheadProposer(config)


def _given(texts: list[list[int]], grown: list[int] | None = None) -> tuple[Any, ...]:
    """What vLLM passes: new tokens, lengths, and a table of rows that has room for more."""
    table = np.zeros((len(texts) + 2, LONGEST), dtype=np.int32)
    for row, text in enumerate(texts):
        table[row, : len(text)] = text
    new = grown or [1] * len(texts)
    sampled = [text[len(text) - each :] for text, each in zip(texts, new, strict=True)]
    return sampled, np.array([*map(len, texts), 9, 9]), table


@pytest.mark.parametrize("call", CALLS["calls"], ids=lambda call: "+".join(call["versions"]))
def test_it_takes_the_calls_of_each_version(call: dict[str, Any]) -> None:
    named = dict.fromkeys(call["named"])
    values = dict(zip(("sampled_token_ids", "num_tokens_no_spec", "token_ids_cpu"),
                      _given([[*PERIOD, *PERIOD[:5]]]), strict=True))  # fmt: skip
    values["num_speculative_tokens"] = 5
    given = [values[name] for name in call["positional"]]
    drafts = _proposer().propose(*given, **named)
    assert drafts == [PERIOD[5:10] if "num_speculative_tokens" in values.keys() & call["positional"]
                      else PERIOD[5:12]]  # fmt: skip
    assert all(type(token) is int for token in drafts[0])


def test_nothing_is_drafted_where_nothing_matches_or_nothing_can_follow() -> None:
    proposer = _proposer()
    sampled, lengths, table = _given([list(range(30)), PERIOD * 2])
    assert proposer.propose([sampled[0], []], lengths, table) == [[], []]
    whole = (PERIOD * 103)[:LONGEST]
    assert proposer.propose(*_given([whole])) == [[]]


def test_drafts_of_most_rows_are_filled_to_one_length_and_those_of_few_are_not() -> None:
    copying, other = [*PERIOD, *PERIOD[:-2]], list(range(500, 560))
    filled = _proposer().propose(*_given([copying, other]))
    assert filled[0][:2] == PERIOD[-2:]
    assert [*map(len, filled)] == [7, 7]
    few = _proposer().propose(*_given([copying, other, other[1:]]))
    assert [*map(len, few)] == [7, 0, 0]


@pytest.mark.parametrize(("rows", "length"), [(8, 7), (9, 3), (30, 0)])
def test_many_rows_draft_no_more_than_a_step_holds(rows: int, length: int) -> None:
    text = [*PERIOD, *PERIOD[:5]]
    drafts = _proposer(budget=64 if rows < 9 else 40).propose(*_given([text] * rows))
    assert {*map(len, drafts)} == {length}


def test_a_row_that_moves_goes_on_from_its_own_text() -> None:
    """Rows end, begin and change places at random; each draft stood in that row's own text."""
    rng, proposer = random.Random(5), _proposer()
    texts = [_begun(rng) for _ in range(4)]
    for _ in range(60):
        rng.shuffle(texts)
        if rng.random() < 0.3:
            texts[rng.randrange(len(texts))] = _begun(rng)
        drafts = proposer.propose(*_given(texts))
        for text, draft in zip(texts, drafts, strict=True):
            right = min(len(draft), rng.randrange(8))
            assert set(draft) <= set(text)
            text += [*draft[:right], rng.randrange(20)]
    assert len(proposer._rows) < 60


def _begun(rng: random.Random) -> list[int]:
    """Text whose tokens no other request has."""
    first = rng.randrange(10**6) * 100
    return [first + rng.randrange(9) for _ in range(rng.randrange(40, 200))]


def test_a_request_is_never_taken_for_one_whose_text_only_ends_alike() -> None:
    proposer = _proposer()
    one = [7, 8, 9, *range(200, 240), 11, 12, 13, 14]
    proposer.propose(*_given([one]))
    other = [1, 2, 3, *range(300, 340), 11, 12, 13, 14, 200]
    assert proposer.propose(*_given([other])) == [[]]


def test_a_row_whose_drafts_fail_rests_and_tries_again() -> None:
    proposer, text, drafted = _proposer(), [*PERIOD, *PERIOD[:5]], []
    for number in range(80):
        drafted.append(bool(proposer.propose(*_given([text]))[0]))
        text += [9000 + number, *PERIOD[:5]]
    assert drafted[0]
    assert sum(drafted) < 20
    assert any(drafted[20:])


def test_it_is_imported_where_only_numba_and_numpy_are(tmp_path: Path) -> None:
    folder = tmp_path / "workers"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "lookahead").symlink_to(Path(vllm_proposer.__file__).parent)
    code = (
        "import sys; import workers.lookahead.vllm_proposer as it; ours = {'controlplane', 'apps'};"
        "assert not ours & {name.partition('.')[0] for name in sys.modules}, it"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path
    )
