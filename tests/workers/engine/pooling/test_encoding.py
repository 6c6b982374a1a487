"""Texts are framed and cut exactly as the checkpoint's own tokenizer does it."""

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from tests.workers.engine.pooling.encoders import make_encoder
from workers.engine.errors import RequestRefused
from workers.engine.pooling.encoding import Cut, Encoder, Side
from workers.engine.tokenizer import load_tokenizer

pytestmark = pytest.mark.engine
SHORT, LONG = "one two", "alpha beta gamma delta " * 4
LIMIT = 24


@pytest.fixture(scope="module", params=["Bert", "Roberta"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_encoder(request.param, tmp_path_factory.mktemp("encoder") / "model")


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize(
    "text",
    [SHORT, LONG, (SHORT, SHORT), (SHORT, LONG), (LONG, SHORT), (LONG, LONG), ("", LONG)],
)
def test_cuts_are_transformers_own(folder: Path, text: str | tuple[str, str], side: Side) -> None:
    reference = AutoTokenizer.from_pretrained(folder, truncation_side=side.value)
    parts = text if isinstance(text, tuple) else (text,)
    expected = reference(*parts, truncation=True, max_length=LIMIT)
    encoder = Encoder(load_tokenizer(folder), max_length=LIMIT)
    row = encoder.encode([text], Cut(side=side), field="input")[0]
    assert list(row.ids) == expected["input_ids"]
    assert row.types == expected.get("token_type_ids")
    assert row.was_cut == (len(reference(*parts)["input_ids"]) > LIMIT)


def test_what_is_refused_is_named(folder: Path) -> None:
    encoder = Encoder(load_tokenizer(folder), max_length=LIMIT)
    with pytest.raises(RequestRefused, match=r"`input\.1` has \d+ tokens; this model reads 24"):
        encoder.encode([SHORT, LONG], Cut(allowed=False), field="input")
    with pytest.raises(RequestRefused, match=r"`input\.1` has 25 tokens"):
        encoder.take_ids([[1], [1] * 25], Cut(allowed=False), field="input")
    (row,) = encoder.take_ids([[*range(25)]], Cut(side=Side.LEFT), field="input")
    assert row.ids == [*range(1, 25)]
    with pytest.raises(RequestRefused, match="`input` holds 129 texts; send at most 128"):
        encoder.encode([SHORT] * 129, Cut(), field="input")
