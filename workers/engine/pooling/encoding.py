"""Texts to rows: special tokens, prompts, and what is cut from a text that is too long."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workers.engine.errors import INPUT_TOO_LONG, TOO_MANY_INPUTS, RequestRefused
from workers.engine.pooling.pair_template import Framed, PairTemplate
from workers.engine.pooling.rows import Row

Text = str | tuple[str, str]


class Side(StrEnum):
    """The end of a text that is cut off."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, kw_only=True)
class Cut:
    """Whether a text that is too long is cut, and where."""

    allowed: bool = True
    side: Side = Side.RIGHT


class Encoder:
    """A tokenizer that knows the model's limit; safe to use from several threads."""

    def __init__(
        self,
        tokenizer: Any,
        *,
        max_length: int,
        max_texts: int = 128,
        template: PairTemplate | None = None,
        keeps_places: bool = True,
    ) -> None:
        """`keeps_places`: rows say where in the text each token is, which takes as long again."""
        self.tokenizer = tokenizer
        self._keeps_places = keeps_places
        self._template = template
        self.max_length = max_length
        self._max_texts = max_texts
        self._backend = tokenizer.backend_tokenizer
        backend = self._backend
        self._encode_all = backend.encode_batch if keeps_places else backend.encode_batch_fast
        self._continuing_mark = getattr(self._backend.model, "continuing_subword_prefix", None)
        self._has_types = "token_type_ids" in tokenizer.model_input_names

    def encode(
        self,
        texts: Sequence[Text],
        cut: Cut,
        *,
        field: str,
        prompt: str = "",
        instruction: str | None = None,
    ) -> list[Row]:
        """Give back a row per text. Raises: `RequestRefused` for one that is empty or too long."""
        self._check_count(len(texts), field)
        template = self._template
        if template is None and instruction is not None:
            raise RequestRefused(
                "`instruction` is for models that are asked in words whether a text answers a "
                "query; this one takes none. Leave it out.",
                field="instruction",
            )
        if prompt:
            texts = [prompt + text for text in texts if isinstance(text, str)]
        plain = [text for text in texts if template is None or isinstance(text, str)]
        encodings = iter(self._encode_all(plain, add_special_tokens=True))
        return [
            self._row(text, next(encodings), cut, f"{field}.{index}")
            if template is None or isinstance(text, str)
            else self._framed_row(template, text, instruction, cut, f"{field}.{index}")
            for index, text in enumerate(texts)
        ]

    def take_ids(self, lists: Sequence[Sequence[int]], cut: Cut, *, field: str) -> list[Row]:
        """Give back a row per list of a client's own tokens, to which nothing is added."""
        self._check_count(len(lists), field)
        rows = []
        for index, ids in enumerate(lists):
            was_cut = self._is_cut(len(ids), cut, f"{field}.{index}")
            if was_cut:
                left = len(ids) - self.max_length
                ids = ids[: self.max_length] if cut.side is Side.RIGHT else ids[left:]
            types = [0] * len(ids) if self._has_types else None
            rows.append(Row(ids=ids, types=types, was_cut=was_cut))
        return rows

    def prompt_length(self, prompt: str) -> int:
        """How many tokens a prompt takes before the text, the start token among them."""
        encoding = self._backend.encode(prompt, add_special_tokens=True)
        return len(encoding.ids) - int(encoding.special_tokens_mask[-1])

    def token(self, token_id: int) -> str:
        return str(self._backend.id_to_token(token_id))

    def continues(self, token_id: int, text: str, start: int) -> bool:
        """Whether a token goes on with a word: by its mark, else because no space is before it."""
        if self._continuing_mark:
            return self.token(token_id).startswith(self._continuing_mark)
        return start > 0 and " " not in text[start - 1 : start + 1]

    def _row(self, text: Text, encoding: Any, cut: Cut, field: str) -> Row:
        was_cut = self._is_cut(len(encoding.ids), cut, field)
        if was_cut:
            encoding = self._cut(text, cut.side)
        if not encoding.ids:
            raise RequestRefused(f"`{field}` is empty; send at least one character.", field=field)
        return Row(
            ids=encoding.ids,
            types=encoding.type_ids if self._has_types else None,
            offsets=encoding.offsets if self._keeps_places else (),
            special=encoding.special_tokens_mask if self._keeps_places else (),
            was_cut=was_cut,
        )

    def _framed_row(
        self,
        template: PairTemplate,
        pair: tuple[str, str],
        instruction: str | None,
        cut: Cut,
        field: str,
    ) -> Row:
        framed = template.frame(*pair, instruction)
        pieces = self._backend.encode_batch(list(framed.pieces), add_special_tokens=False)
        ids = [] if template.bos is None else [template.bos]
        length = sum(len(piece.ids) for piece in pieces) + len(ids)
        was_cut = self._is_cut(length, cut, field)
        for place, piece in enumerate(pieces):
            is_long = was_cut and place == framed.place
            over = length - self.max_length
            ids += _without_text(piece, framed, over, cut.side) if is_long else piece.ids
        if len(ids) > self.max_length:
            raise RequestRefused(
                f"`query` and `instruction` take {len(ids)} tokens without a text; this model "
                f"reads {self.max_length}. Shorten them.",
                field="query",
                code=INPUT_TOO_LONG,
            )
        return Row(ids=ids, was_cut=was_cut)

    def _is_cut(self, length: int, cut: Cut, field: str) -> bool:
        if length > self.max_length and not cut.allowed:
            raise RequestRefused(
                f"`{field}` has {length} tokens; this model reads {self.max_length}. Shorten it, "
                "or send `truncate: true`.",
                field=field,
                code=INPUT_TOO_LONG,
            )
        return length > self.max_length

    def _check_count(self, texts: int, field: str) -> None:
        if texts > self._max_texts:
            raise RequestRefused(
                f"`{field}` holds {texts} texts; send at most {self._max_texts} in one request.",
                field=field,
                code=TOO_MANY_INPUTS,
            )

    def _cut(self, text: Text, side: Side) -> Any:
        """The encoding whose text is shortened and whose special tokens are all there."""
        parts = text if isinstance(text, tuple) else (text,)
        bare = [self._backend.encode(part, add_special_tokens=False) for part in parts]
        room = self.max_length - self._backend.num_special_tokens_to_add(len(parts) == 2)
        for part, length in zip(bare, _shares([len(part.ids) for part in bare], room), strict=True):
            part.truncate(length, direction=side.value)
        return self._backend.post_process(*bare, add_special_tokens=True)


def _without_text(piece: Any, pair: Framed, tokens: int, side: Side) -> list[int]:
    """The ids of a piece without so many tokens of its text, at one end of it."""
    places = [
        place for place, (first, last) in enumerate(piece.offsets)
        if first >= pair.start and last <= pair.end
    ]  # fmt: skip
    gone = set(places[-tokens:] if side is Side.RIGHT else places[:tokens])
    return [token for place, token in enumerate(piece.ids) if place not in gone]


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """How many tokens each text keeps: the longer one is cut first."""
    if len(lengths) == 1:
        return [max(0, room)]
    shorter = min(*lengths, room // 2)
    longer = min(max(lengths), room - shorter)
    return [shorter, longer] if lengths[0] <= lengths[1] else [longer, shorter]
