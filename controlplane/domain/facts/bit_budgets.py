"""A budget of bits per weight, within which a search gives each layer its number."""

from controlplane.domain.facts.quantization import FP8, NVFP4, Number

SEARCHED_SAMPLES = 128
"""Rows that the search scores layers by, at most: what ModelOpt 0.47 suggests."""
_EFFORT_OF_GRADIENTS, _EFFORT_OF_A_NUMBER = 2.6, 5.0
"""Work of the search per row as times a forward pass: a Llama of 12 layers, 576 wide, with 16 x 256
tokens in float32 on one core took 7.6 times as long with FP8 alone, 12.6 with FP8 and FP4; measured
2026-11-30."""
_LARGEST_FIRST = (FP8, NVFP4)


def searched_numbers(number: Number) -> tuple[Number, ...]:
    """Return what a search chooses among, 16 bits aside, where a type's number is the smallest.

    Empty for a number that no search has: a mixture with INT4 is in no engine's format.
    """
    if number not in _LARGEST_FIRST:
        return ()
    return _LARGEST_FIRST[: _LARGEST_FIRST.index(number) + 1]


def search_effort(number: Number) -> float:
    """Return the work of a search per row, in forward passes."""
    return _EFFORT_OF_GRADIENTS + _EFFORT_OF_A_NUMBER * len(searched_numbers(number))
