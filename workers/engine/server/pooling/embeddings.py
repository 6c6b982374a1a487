"""`/v1/embeddings` in OpenAI's shape, and `/embed_sparse` for vectors over a vocabulary."""

import base64
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from torch import Tensor, nn

from workers.engine.errors import RequestRefused
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Row
from workers.engine.pooling.sentence import Sentence
from workers.engine.server.body import read_body
from workers.engine.server.pooling.compute import Computed, check_count, compute, respond
from workers.engine.server.pooling.fields import EmbeddingFields, SparseFields
from workers.engine.server.validation import validate


class EmbeddingRoutes:
    """Handlers of a model that makes vectors."""

    def __init__(self, engine: PoolingEngine, sentence: Sentence) -> None:
        self._engine = engine
        self._sentence = sentence

    async def embeddings(self, request: Request) -> Response:
        """One vector per text, with the tokens that were read."""
        fields = validate(EmbeddingFields, await read_body(request))
        self._check_dimensions(fields.dimensions)
        check_count(self._engine, len(fields.input), "input")
        computed = await compute(
            request, self._engine, lambda: self._rows(fields.input, fields, "input")
        )
        return await respond(computed, lambda: self._body(computed, fields))

    async def embed_sparse(self, request: Request) -> Response:
        """Per text the words that weigh anything, as pairs of index and value."""
        fields = validate(SparseFields, await read_body(request))
        check_count(self._engine, len(fields.inputs), "inputs")
        computed = await compute(
            request, self._engine, lambda: self._rows(fields.inputs, fields, "inputs")
        )
        return await respond(computed, lambda: [_weights(each) for each in computed.outputs])

    def _body(self, computed: Computed, fields: EmbeddingFields) -> dict[str, Any]:
        vectors = [self._shortened(vector, fields.dimensions) for vector in computed.outputs]
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": _written(vector, fields)}
                for index, vector in enumerate(vectors)
            ],
            "model": fields.model or self._engine.served_model_name,
            "usage": {"prompt_tokens": computed.tokens, "total_tokens": computed.tokens},
        }

    def _rows(
        self, inputs: Sequence[Any], fields: EmbeddingFields | SparseFields, name: str
    ) -> Sequence[Row]:
        encoder = self._engine.encoder
        if not isinstance(inputs[0], str):
            return [
                encoder.take_ids(self._checked(ids, f"{name}.{index}"), fields.cut, field=name)
                for index, ids in enumerate(inputs)
            ]
        texts = [text.lower() for text in inputs] if self._sentence.lowers else inputs
        prompt = self._prompt(fields.prompt_name)
        rows = encoder.encode(texts, fields.cut, field=name, prompt=prompt)
        if prompt and not self._sentence.includes_prompt:
            return [row.without(encoder.prompt_length(prompt)) for row in rows]
        return rows

    def _checked(self, ids: Sequence[int], field: str) -> Sequence[int]:
        known = range(self._engine.model.vocabulary_size)
        if not all(token in known for token in ids):
            raise RequestRefused(
                f"`{field}` should hold token ids from 0 to {known.stop - 1}.", field=field
            )
        return ids

    def _prompt(self, name: str | None) -> str:
        prompts = self._sentence.prompts
        if name is not None and name not in prompts:
            known = ", ".join(f"`{each}`" for each in prompts) or "none"
            raise RequestRefused(
                f"`prompt_name` is `{name}`; the checkpoint's prompts are: {known}.",
                field="prompt_name",
            )
        return prompts.get(name or self._sentence.default_prompt or "", "")

    def _check_dimensions(self, asked: int | None) -> None:
        if asked is not None and asked > self._engine.model.dimensions:
            raise RequestRefused(
                f"`dimensions` is {asked}; this model's vectors have "
                f"{self._engine.model.dimensions}.",
                field="dimensions",
            )

    def _shortened(self, vector: Tensor, dimensions: int | None) -> Tensor:
        if dimensions is None:
            return vector
        head = vector[:dimensions]
        return nn.functional.normalize(head, dim=0) if self._sentence.normalizes else head


def _written(vector: Tensor, fields: EmbeddingFields) -> Any:
    if fields.encoding_format == "base64":
        return base64.b64encode(vector.numpy().astype("<f4").tobytes()).decode()
    return vector.tolist()


def _weights(vector: Tensor) -> list[dict[str, Any]]:
    found = vector.nonzero().flatten()
    return [
        {"index": index, "value": value}
        for index, value in zip(found.tolist(), vector[found].tolist(), strict=True)
    ]
