"""Carries a request's texts to the model thread and back, for every route that pools."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from pydantic_core import to_json
from torch import Tensor

from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Request as Pooled
from workers.engine.pooling.rows import Row
from workers.engine.server.body import Fields, check_body, parse_object


@dataclass(frozen=True, kw_only=True)
class Computed:
    rows: Sequence[Row]
    outputs: Sequence[Tensor]

    @property
    def tokens(self) -> int:
        """Tokens that were read, as billed."""
        return sum(map(len, self.rows))


@dataclass(frozen=True, kw_only=True)
class Form(Generic[Fields]):
    """One way of asking: its fields, their texts as rows, and what is written of the outputs."""

    kind: type[Fields]
    encode: Callable[[Fields], Sequence[Row]]
    body: Callable[[Fields, Computed], Any]
    """What JSON is made of, or bytes, which are JSON already."""
    mark: str | None = None
    """The field by which it is told from the others of its route."""


class Call:
    """One request on its way: read, encoded and computed, written."""

    def __init__(self, engine: PoolingEngine, forms: Sequence[Form[Any]], content: bytes) -> None:
        """Raises: `RequestRefused` that names the first bad field."""
        sent = parse_object(content)
        self._engine = engine
        self._form = next((each for each in forms if each.mark in sent), forms[-1])
        self._fields = check_body(self._form.kind, sent)
        self._rows: Sequence[Row] = ()
        self._places: Sequence[int] = ()

    def submit(self) -> Pooled:
        """Encode and queue the texts; for a thread of its own. Raises: `RequestRefused`.

        Texts that are the same to the model are computed once.
        """
        self._rows = self._form.encode(self._fields)
        distinct, self._places = _distinct(self._rows)
        return self._engine.submit(distinct)

    def written(self, outputs: Sequence[Tensor]) -> tuple[bytes, int]:
        each = [outputs[place] for place in self._places]
        computed = Computed(rows=self._rows, outputs=each)
        body = self._form.body(self._fields, computed)
        return body if isinstance(body, bytes) else to_json(body), computed.tokens


def _distinct(rows: Sequence[Row]) -> tuple[Sequence[Row], Sequence[int]]:
    """The rows without repetitions, and where each is among them."""
    if len(rows) == 1:
        return rows, (0,)
    positions: dict[Any, int] = {}
    places = [
        positions.setdefault((*row.ids, row.prompt_tokens, tuple(row.types or ())), len(positions))
        for row in rows
    ]
    if len(positions) == len(rows):
        return rows, places
    firsts = dict(zip(reversed(places), reversed(rows), strict=True))
    return [firsts[place] for place in range(len(positions))], places
