"""A budget of bits per weight, within which a search gives each layer its number."""

from controlplane.domain.facts.quantization import FP8, NVFP4, Number

SEARCHED_SAMPLES = 128
"""Rows that the search scores layers by, at most: what ModelOpt 0.47 suggests."""
_EFFORT_OF_GRADIENTS, _EFFORT_OF_A_NUMBER = 2.6, 5.0
"""An estimate, until builds have run: the work of the search per row as times a forward pass, once
for the gradients and once for each number that it tries."""
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
