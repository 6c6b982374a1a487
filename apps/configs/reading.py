from collections.abc import Iterator
from dataclasses import dataclass

from apps.ui.formats import number, size
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.existing_quantization import ExistingQuantization
from controlplane.domain.memory import FitRow
from controlplane.domain.proposal import Named

_CHAT_WORDS = {True: "yes", False: "none", None: "not said"}


@dataclass(frozen=True, kw_only=True)
class FitLine:
    row: FitRow
    url: str


def found_lines(
    facts: CheckpointFacts, named: Named, *, proposed_tokens: int | None = None
) -> tuple[tuple[str, str], ...]:
    """Return what the files say, as terms and values.

    `proposed_tokens` is the length that the proposed config writes, which every count is of.
    """
    return tuple(_lines(facts, named, proposed_tokens))


def _lines(
    facts: CheckpointFacts, named: Named, proposed_tokens: int | None
) -> Iterator[tuple[str, str]]:
    yield "Architecture", facts.architecture or "not said"
    about = "about " if facts.parameters_estimated else ""
    counted = f"{about}{number(facts.parameters)}" if facts.parameters else "could not be counted"
    yield "Parameters", counted
    yield "Weights", _weights(facts)
    yield "Context", _context(facts.max_positions, proposed_tokens)
    yield "Chat template", _CHAT_WORDS[facts.has_chat_template]
    quantized = facts.existing_quantization
    yield "Quantized", _method(quantized) if quantized else "not yet"
    yield "Access", f"with the secret {named.secret_name}" if named.secret_name else "open to all"
    if facts.commit:
        yield "Commit", facts.commit[:12]


def _context(longest: int | None, proposed_tokens: int | None) -> str:
    if longest is None:
        return "not said"
    if proposed_tokens in (None, longest):
        return f"{number(longest)} tokens"
    return f"up to {number(longest)} tokens; {number(proposed_tokens)} proposed"


def _method(quantized: ExistingQuantization) -> str:
    return " ".join(each for each in (quantized.method, quantized.algorithm) if each)


def _weights(facts: CheckpointFacts) -> str:
    if facts.weight_bytes is None:
        return "not read"
    return f"{number(facts.weight_bytes)} bytes ({size(facts.weight_bytes)})"
