"""How a config.json stretches positions, under either of the two names and both layouts of files.

Source: `_get_and_verify_max_len` of vLLM 0.25.1 to 0.33.0, checked 2026-11-30.
"""

from collections.abc import Mapping

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.config_numbers import Config

_LARGEST_FACTOR = 1024
_MULTIPLYING = ("linear", "dynamic")
"""Kinds whose files give the positions of training, which engines multiply."""
_IN_SECTIONS, _SECTIONS = "mrope", "mrope_section"
KINDS = frozenset(
    {"default", "proportional", "llama3", "mllama4", "linear", "ntk", "dynamic", "xdrope", "yarn",
     "deepseek_yarn", "deepseek_llama_scaling", "longrope", "openpangu", "telechat3-yarn",
     "bailing_mrope", "su", "mrope"}
)  # fmt: skip
"""Kinds that some of these versions of vLLM know."""


class Rope:
    """Kind, factor and trained positions, None where the file does not say or says nonsense."""

    def __init__(self, config: Config) -> None:
        block = numbers.mapping(config, "rope_scaling", "rope_parameters")
        if isinstance(inner := block.get("full_attention"), Mapping):
            block = inner
        self.kind = _kind(block.get("rope_type"), block.get("type"))
        if self.kind == _IN_SECTIONS and _SECTIONS not in block:
            self.kind = f"{_IN_SECTIONS} without {_SECTIONS}"
        factor = numbers.real(block.get("factor"))
        self.factor = factor if factor and 1 <= factor <= _LARGEST_FACTOR else None
        self.original = numbers.whole(
            block.get("original_max_position_embeddings")
        ) or numbers.first_number(config, "original_max_position_embeddings")

    def multiplies(self, model_type: str | None) -> bool:
        """Return whether the positions of the file are those of training.

        Gemma 3 states its positions as stretched already.
        """
        is_gemma = (model_type or "").startswith("gemma3")
        return self.kind in _MULTIPLYING and self.factor is not None and not is_gemma

    def stretches(self, model_type: str | None) -> bool:
        """Return whether its factor makes the model read more than it was trained on."""
        return self.factor is not None and (self.kind == "yarn" or self.multiplies(model_type))

    def stretched(self, positions: int, model_type: str | None) -> int:
        if self.factor is None:
            return positions
        if self.kind == "yarn" and self.original:
            return max(positions, int(self.original * self.factor))
        if self.multiplies(model_type):
            return int((self.original or positions) * self.factor)
        return positions


_NAMES_OF_ONE = {("longrope", "su"), ("default", "mrope")}
"""A kind and its older name, which may stand beside each other."""


def _kind(named: object, older: object) -> str | None:
    """Return the kind, or both where a file names two, which no engine takes."""
    kind = older if named is None else named
    if not isinstance(kind, str):
        return None
    is_one = not isinstance(older, str) or older == kind or (kind, older) in _NAMES_OF_ONE
    return kind if is_one else f"{kind} and {older}"
