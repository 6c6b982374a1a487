"""The sweep of engines' sources: what it reads, how it sorts that, and the table of its result."""

import json
from pathlib import Path

import pytest

from benchmarks.engine_messages import PAGE, RESULT, Known, known, page
from benchmarks.engine_messages_parts.decided_before import every_code
from benchmarks.engine_messages_parts.messages import (
    Message,
    filled_in,
    messages_in,
    words_needed,
)
from controlplane.domain.rules import ALL_RULES

_KEPT = json.loads(RESULT.read_text())
_SOURCE = """
def check(heads, size, name):
    if heads % size:
        raise ValueError(f"{heads} heads do not divide by {size[0]!r}." " Use fewer.")
    assert size, "no size"
    assert heads
    raise KeyError(name)
    raise NotImplementedError("%s is not known" % name)
"""


def test_the_table_is_that_of_the_kept_result() -> None:
    text = PAGE.read_text()
    assert page(text, _KEPT) == text, "python benchmarks/engine_messages.py"


def test_a_page_without_one_place_for_the_table_is_refused() -> None:
    with pytest.raises(SystemExit, match="no one place"):
        page("no table", _KEPT)


def test_what_is_said_to_be_decided_before_names_rules_that_are_there() -> None:
    assert every_code() - {rule.code for rule in ALL_RULES} == set()


def test_messages_are_read_with_their_values_open(tmp_path: Path) -> None:
    library = tmp_path / "lib"
    library.mkdir()
    (library / "a.py").write_text(_SOURCE)
    (library / "broken.py").write_text("def (")
    rows = {(each.kind, each.text) for each in messages_in(library)}
    assert rows == {
        ("ValueError", "{value} heads do not divide by {value}. Use fewer."),
        ("AssertionError", "no size"),
        ("NotImplementedError", "%s is not known"),
    }
    assert (
        filled_in("{value} heads do not divide by {value}.", "7") == "7 heads do not divide by 7."
    )


@pytest.mark.parametrize(
    ("path", "kind", "text", "who"),
    [
        ("vllm/model_executor/models/a.py", "ValueError",
         "total_num_heads {value} is not divisible by tp_size {value}.", Known.RULE),
        ("vllm/lora/utils.py", "ValueError", "{value} is unsupported LoRA weight", Known.PATTERN),
        ("vllm/config/a.py", "ValueError", "--some-flag cannot be negative here", Known.FAMILY),
        ("vllm/config/a.py", "ValueError", "This odd thing happened again", Known.GUESS),
        ("vllm/sampling_params.py", "ValueError", "top_p must be in (0, 1]", Known.REQUEST),
        ("vllm/config/a.py", "AssertionError", "it should not be called", Known.SLIP),
        ("vllm/v1/kv_cache_interface.py", "AssertionError", "This odd thing happened again",
         Known.GUESS),
        ("odd/a.py", "ValueError", "This odd thing happened again", Known.NOBODY),
    ],
)  # fmt: skip
def test_a_message_is_known_by_the_surest_of_those_who_know_it(
    path: str, kind: str, text: str, who: Known
) -> None:
    assert known(Message(path=path, line=1, kind=kind, text=text)) is who


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (r"(?P<name>[\w.]+) is odd", " is odd"),
        (r"either this|or that", ""),
        (r"an errors? of (?:this|that) kind", "an error"),
        (r"\[x\] a{2}bc[|]d+efg\n", "efg"),
    ],
)
def test_the_words_that_a_match_needs_are_the_longest_that_no_choice_touches(
    expression: str, words: str
) -> None:
    assert words_needed(expression) == words
