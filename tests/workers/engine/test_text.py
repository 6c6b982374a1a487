"""Text leaves in pieces that join to the whole, and never past a stop string."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models

from tests.workers.engine.asking import Asked
from workers.engine.detokenizer import Detokenizer
from workers.engine.engine import Engine
from workers.engine.generation import FinishReason
from workers.engine.stop_strings import StopStrings

pytestmark = pytest.mark.engine

PROMPT = (1, 321, 71, 84, 42)


@pytest.fixture(scope="module")
def byte_level(checkpoint: Path) -> Tokenizer:
    return Tokenizer.from_file(str(checkpoint / "tokenizer.json"))


@pytest.fixture(scope="module")
def byte_fallback() -> Tokenizer:
    """The other family: words with a marker, and single bytes for what is no word."""
    words = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁Hello", "▁world", "!", "▁"]
    vocabulary = {word: index for index, word in enumerate(words)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], byte_fallback=True))
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(content=" ", left=1, right=0),
    ])  # fmt: skip
    return tokenizer


@given(text=st.text(max_size=40))
def test_pieces_join_to_the_text(byte_level: Tokenizer, text: str) -> None:
    tokens = byte_level.encode(text, add_special_tokens=False).ids
    pieces = _pieces(byte_level.decode, tokens)
    assert "".join(pieces) == text
    assert all("\ufffd" not in piece for piece in pieces) or "\ufffd" in text


@given(text=st.text(max_size=12))
def test_bytes_one_by_one_join_to_the_text(byte_fallback: Tokenizer, text: str) -> None:
    tokens = [byte_fallback.token_to_id("▁Hello"), *(byte + 1 for byte in text.encode())]
    assert "".join(_pieces(byte_fallback.decode, tokens)) == f"Hello{text}"


@given(tokens=st.lists(st.integers(0, 511), max_size=60))
def test_any_tokens_at_all_are_given_out(byte_level: Tokenizer, tokens: list[int]) -> None:
    pieces = _pieces(byte_level.decode, tokens)
    whole = byte_level.decode(tokens)
    assert "".join(pieces).replace("\ufffd", "") == whole.replace("\ufffd", "")


def test_a_word_marker_survives_between_pieces(byte_fallback: Tokenizer) -> None:
    tokens = [byte_fallback.token_to_id(word) for word in ("▁Hello", "▁world", "!")]
    assert _pieces(byte_fallback.decode, tokens) == ["Hello", " world", "!", ""]


@given(
    text=st.text(alphabet="abc", max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=8),
    stops=st.lists(st.text(alphabet="abc", min_size=1, max_size=4), max_size=3),
)
def test_a_stop_string_cuts_however_the_text_is_split(
    text: str, cuts: list[int], stops: list[str]
) -> None:
    matcher, given_out = StopStrings(stops), ""
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    for start, end in pairwise(edges):
        given_out += matcher.push(text[start:end])
        if matcher.matched:
            break
    if not matcher.matched:
        given_out += matcher.flush()
    ends = [text.find(stop) + len(stop) for stop in stops if stop in text]
    if not ends:
        assert (given_out, matcher.matched) == (text, None)
    else:
        assert matcher.matched in stops
        assert text.startswith(given_out + (matcher.matched or ""))
        assert not any(stop in given_out for stop in stops)


def test_an_answer_ends_before_its_stop_string(engine: Engine) -> None:
    whole = Asked(engine, PROMPT, max_tokens=40, ignore_eos=True).finish().text
    middle = len(whole) // 2
    stop = whole[middle : middle + 5]
    request = Asked(engine, PROMPT, max_tokens=40, ignore_eos=True, stop=("no such", stop)).finish()
    assert request.text == whole[: whole.find(stop)]
    assert request.reason is FinishReason.STOP
    assert len(request.tokens) < 40


def test_text_held_for_a_stop_string_comes_at_the_end(engine: Engine) -> None:
    whole = Asked(engine, PROMPT, max_tokens=12, ignore_eos=True).finish().text
    stop = whole[-3:] + "never"
    request = Asked(engine, PROMPT, max_tokens=12, ignore_eos=True, stop=(stop,)).finish()
    assert (request.text, request.reason) == (whole, FinishReason.LENGTH)


def _pieces(decode: Callable[[Sequence[int]], str], tokens: Sequence[int]) -> list[str]:
    detokenizer = Detokenizer(decode)
    return [*(detokenizer.push(token) for token in tokens), detokenizer.flush()]
