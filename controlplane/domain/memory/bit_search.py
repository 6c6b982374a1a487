"""Memory of a search within a budget of bits: it runs row by row, forwards and backwards.

With ModelOpt 0.47 on a CPU, a search took what tests/domain/memory/test_bit_search.py has; this
says up to a sixth more.
"""

from controlplane.domain.facts.bit_budgets import searched_numbers
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.spec import Spec

_LOGIT_COPIES = 4
_WIDTH_COPIES = 1.5
"""Of what the layers give; each number that is tried keeps another, and rounded weights."""
_HIDDEN_OUTPUTS, _INTERMEDIATE_OUTPUTS = 5, 2
"""Matrices of a layer by the width of what they give."""
_FLOAT32_BYTES = 4


def bit_search_bytes(spec: Spec, facts: CheckpointFacts, *, number_bytes: int) -> int:
    """Return what a search takes beside the model; 0 where none is asked for."""
    if spec.bit_budget is None:
        return 0
    sequence_tokens = spec.engine_build.quantization_config.calib_max_seq_length
    tokens = min(sequence_tokens, facts.max_positions or sequence_tokens)
    logits = _LOGIT_COPIES * _FLOAT32_BYTES * (facts.vocabulary_size or 0)
    tried = len(searched_numbers(spec.quantization_type.precision.weights))
    weights = tried * number_bytes * (facts.parameters or 0)
    layers = (facts.layers or 0) * number_bytes * _width(facts)
    return weights + tokens * (logits + round(layers * (_WIDTH_COPIES + tried)))


def _width(facts: CheckpointFacts) -> int:
    hidden, intermediate = facts.hidden_size or 0, facts.intermediate_size or 0
    return _HIDDEN_OUTPUTS * hidden + _INTERMEDIATE_OUTPUTS * intermediate
