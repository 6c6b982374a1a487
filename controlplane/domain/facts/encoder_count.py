"""Parameters of bidirectional encoders: BERT and its relatives."""

from dataclasses import dataclass

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.families import GATED_ENCODERS
from controlplane.domain.facts.shape import Shape

_WITHOUT_POSITIONS = GATED_ENCODERS
_WITHOUT_POOLER = frozenset({"distilbert", "modernbert", "nomic_bert", "new"})


@dataclass(frozen=True, kw_only=True)
class EncoderCounts:
    tables: int
    attention: int
    mlp: int
    other: int


def count_encoder(shape: Shape) -> EncoderCounts | None:
    layers, hidden, vocabulary = shape.layers, shape.hidden_size, shape.vocabulary_size
    width = shape.intermediate_size
    if not (layers and hidden and vocabulary and width):
        return None
    model_type = shape.model_type or ""
    gated = model_type in GATED_ENCODERS
    embedded = shape.extra("embedding_size", 128) if model_type == "albert" else None
    table_width = embedded or hidden
    stored = numbers.number(shape.config, "num_hidden_groups") or 1 if embedded else layers
    biases = 0 if gated else stored * (9 * hidden + width)
    types = shape.extra("type_vocab_size", 2) if model_type != "distilbert" else 0
    positions = 0 if model_type in _WITHOUT_POSITIONS else shape.positions or 0
    pooler = 0 if model_type in _WITHOUT_POOLER else hidden * hidden + hidden
    return EncoderCounts(
        tables=vocabulary * table_width,
        attention=stored * 4 * hidden * hidden,
        mlp=stored * (3 if gated else 2) * hidden * width,
        other=biases + table_width * (positions + types + 2) + pooler
        + (embedded * hidden if embedded else 0),
    )  # fmt: skip
