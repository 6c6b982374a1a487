"""Vectors in OpenAI's shape, bare as the hub's client reads them, and over a vocabulary."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic_core import to_json
from torch import Tensor, nn

from workers.engine.errors import RequestRefused
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Row
from workers.engine.pooling.sentence import Sentence
from workers.engine.server.pooling.compute import Computed
from workers.engine.server.pooling.fields import EmbeddingFields, EmbedFields, SparseFields
from workers.engine.server.pooling.number_text import Numbers, write_rows


class Embeddings:
    def __init__(self, engine: PoolingEngine, sentence: Sentence) -> None:
        self._engine = engine
        self._sentence = sentence

    @property
    def is_sparse(self) -> bool:
        """Whether its vectors are over the vocabulary."""
        return self._sentence.splade is not None

    def rows(self, fields: EmbeddingFields) -> Sequence[Row]:
        """Encode the texts of an embedding. Raises: `RequestRefused`."""
        self._check_dimensions(fields.dimensions)
        return self._rows(fields.input, fields, "input")

    def bare_rows(self, fields: EmbedFields) -> Sequence[Row]:
        """Encode the texts of a bare one. Raises: `RequestRefused`."""
        self._check_dimensions(fields.dimensions)
        if self._sentence.normalizes and not fields.normalize:
            raise RequestRefused(
                "`normalize` is false, and this checkpoint normalizes its vectors itself; leave it "
                "out.",
                field="normalize",
            )
        return self._rows(fields.inputs, fields, "inputs")

    def sparse_rows(self, fields: SparseFields) -> Sequence[Row]:
        """Encode the texts of a sparse one. Raises: `RequestRefused`."""
        return self._rows(fields.inputs, fields, "inputs")

    def body(self, fields: EmbeddingFields, computed: Computed) -> bytes:
        normalizes = self._sentence.normalizes
        vectors = self._cut(computed.outputs, fields.dimensions, normalizes=normalizes)
        write = _as_base64 if fields.encoding_format == "base64" else write_rows
        data = b",".join(
            b'{"object":"embedding","index":%d,"embedding":%b}' % (index, text)
            for index, text in enumerate(write(vectors))
        )
        model = to_json(fields.model or self._engine.settings.served_model_name)
        tokens = computed.tokens
        usage = b'{"prompt_tokens":%d,"total_tokens":%d}' % (tokens, tokens)
        return b'{"object":"list","data":[%b],"model":%b,"usage":%b}' % (data, model, usage)

    def bare_body(self, fields: EmbedFields, computed: Computed) -> bytes:
        vectors = self._cut(computed.outputs, fields.dimensions, normalizes=fields.normalize)
        return b"[%b]" % b",".join(write_rows(vectors))

    def _check_dimensions(self, dimensions: int | None) -> None:
        known = self._engine.model.dimensions
        if dimensions is not None and dimensions > known:
            raise RequestRefused(
                f"`dimensions` is {dimensions}; this model's vectors have {known}.",
                field="dimensions",
            )

    def _rows(
        self, inputs: Sequence[Any], fields: EmbeddingFields | SparseFields, name: str
    ) -> Sequence[Row]:
        encoder = self._engine.encoder
        if not isinstance(inputs[0], str):
            self._check_ids(inputs, name)
            return encoder.take_ids(inputs, fields.cut, field=name)
        texts = [text.lower() for text in inputs] if self._sentence.lowers else inputs
        prompt = self._prompt(fields.prompt_name)
        rows = encoder.encode(texts, fields.cut, field=name, prompt=prompt)
        if prompt and not self._sentence.includes_prompt:
            length = encoder.prompt_length(prompt)
            return [replace(row, prompt_tokens=length) for row in rows]
        return rows

    def _check_ids(self, lists: Sequence[Sequence[int]], name: str) -> None:
        most = self._engine.model.vocabulary_size - 1
        for index, ids in enumerate(lists):
            if min(ids) < 0 or max(ids) > most:
                field = f"{name}.{index}"
                raise RequestRefused(
                    f"`{field}` should hold token ids from 0 to {most}.", field=field
                )

    def _prompt(self, name: str | None) -> str:
        prompts = self._sentence.prompts
        if name is not None and name not in prompts:
            known = ", ".join(f"`{each}`" for each in prompts) or "none"
            raise RequestRefused(
                f"`prompt_name` is `{name}`; the checkpoint's prompts are: {known}.",
                field="prompt_name",
            )
        return prompts.get(name or self._sentence.default_prompt or "", "")

    def _cut(
        self, vectors: Sequence[Tensor], dimensions: int | None, *, normalizes: bool
    ) -> Sequence[Numbers]:
        """Normalized anew only where that changes anything."""
        cut = [vector[:dimensions] for vector in vectors]
        if normalizes and (dimensions is not None or not self._sentence.normalizes):
            cut = [nn.functional.normalize(vector, dim=0) for vector in cut]
        return [vector.numpy() for vector in cut]


def _as_base64(vectors: Sequence[Numbers]) -> Iterator[bytes]:
    return (b'"%b"' % base64.b64encode(vector.astype("<f4").tobytes()) for vector in vectors)


def weights(_fields: SparseFields, computed: Computed) -> list[list[dict[str, Any]]]:
    """Give back per text the words that weigh anything, as pairs of index and value."""
    return [
        [
            {"index": index, "value": value}
            for index, value in zip(places.tolist(), vector[places].tolist(), strict=True)
        ]
        for vector in computed.outputs
        for places in [vector.nonzero().flatten()]
    ]
