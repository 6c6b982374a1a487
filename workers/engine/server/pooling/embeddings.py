"""`/v1/embeddings` in OpenAI's shape, and `/embed_sparse` for vectors over a vocabulary."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from torch import Tensor, nn

from workers.engine.errors import RequestRefused
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Row
from workers.engine.pooling.sentence import Sentence
from workers.engine.server.body import read_body
from workers.engine.server.pooling.compute import Computed, pool
from workers.engine.server.pooling.fields import EmbeddingFields, SparseFields


class EmbeddingRoutes:
    """Handlers of a model that makes vectors."""

    def __init__(self, engine: PoolingEngine, sentence: Sentence) -> None:
        self._engine = engine
        self._sentence = sentence

    async def embeddings(self, request: Request) -> Response:
        """One vector per text, with the tokens that were read."""
        fields = await read_body(EmbeddingFields, request)
        known = self._engine.model.dimensions
        if fields.dimensions is not None and fields.dimensions > known:
            raise RequestRefused(
                f"`dimensions` is {fields.dimensions}; this model's vectors have {known}.",
                field="dimensions",
            )
        encode = partial(self._rows, fields.input, fields, "input")
        return await pool(request, self._engine, encode, partial(self._body, fields))

    async def embed_sparse(self, request: Request) -> Response:
        """Per text the words that weigh anything, as pairs of index and value."""
        fields = await read_body(SparseFields, request)
        encode = partial(self._rows, fields.inputs, fields, "inputs")
        return await pool(
            request, self._engine, encode, lambda computed: list(map(_weights, computed.outputs))
        )

    def _body(self, fields: EmbeddingFields, computed: Computed) -> dict[str, Any]:
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": self._written(vector, fields)}
                for index, vector in enumerate(computed.outputs)
            ],
            "model": fields.model or self._engine.settings.served_model_name,
            "usage": {"prompt_tokens": computed.tokens, "total_tokens": computed.tokens},
        }

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

    def _written(self, vector: Tensor, fields: EmbeddingFields) -> Any:
        if fields.dimensions is not None:
            vector = vector[: fields.dimensions]
            if self._sentence.normalizes:
                vector = nn.functional.normalize(vector, dim=0)
        if fields.encoding_format == "base64":
            return base64.b64encode(vector.numpy().astype("<f4").tobytes()).decode()
        return vector.tolist()


def _weights(vector: Tensor) -> list[dict[str, Any]]:
    found = vector.nonzero().flatten()
    weighed = zip(found.tolist(), vector[found].tolist(), strict=True)
    return [{"index": index, "value": value} for index, value in weighed]
