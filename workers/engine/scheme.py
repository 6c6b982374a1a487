"""How a checkpoint is quantized, of the ways that can be emulated."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

COMPRESSED = "compressed-tensors"
PACKED = "pack-quantized"
BLOCKS = "fp8"
"""`quant_method` of FP8 weights with a scale per block."""


class Number(StrEnum):
    """What quantized layers multiply."""

    FP8 = "FP8"
    FP8_BLOCKS = "block-scaled FP8"
    """A scale for each block of rows and columns."""
    NVFP4 = "NVFP4"
    INT4 = "INT4"
    MIXED = "FP8 and NVFP4"
    """Some layers in the one, some in the other."""


class Inputs(StrEnum):
    """Where the scale of a quantized layer's input comes from."""

    EXPORTED = "exported"
    PER_TOKEN = "per token"
    PER_BLOCK = "per block"
    """Of a token's numbers."""
    UNTOUCHED = "untouched"


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """What a checkpoint declares of itself; its tensors must agree."""

    method: str
    number: Number
    inputs: Inputs
    has_fp8_cache: bool
    excluded: tuple[str, ...]
    """Names, wildcards or `re:` expressions of layers that stay as they are."""
    layers: Mapping[str, Number] = field(default_factory=dict)
    """Layer or what it is a part of -> its number, where they are mixed."""

    def number_of(self, module: str) -> Number | None:
        """Return the number of a quantized layer; None where a mixture does not name it."""
        if self.number is not Number.MIXED:
            return self.number
        parts = module.split(".")
        above = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        return next((self.layers[name] for name in above if name in self.layers), None)

    def excludes(self, module: str) -> bool:
        """Whether a layer stays as it is, itself or as a part of what is named."""
        return any(_matches(pattern, module) for pattern in self.excluded)


def _matches(pattern: str, module: str) -> bool:
    if pattern.startswith("re:"):
        return re.match(pattern.removeprefix("re:"), module) is not None
    return fnmatchcase(module, pattern) or module.startswith(f"{pattern}.")
