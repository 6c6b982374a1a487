"""Every rule there is: what a module of a family's folder assigns is one, and no list names it."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from controlplane.domain.rules.rule import Rule

FAMILIES = {
    "EH0": "Schema",
    "EH1": "Hardware",
    "EH2": "Quantization",
    "EH3": "Parallelism",
    "EH4": "Speculation",
    "EH5": "Memory",
    "EH6": "Serving",
    "EH7": "Adapters",
    "EH8": "Checkpoint and secrets",
    "EH9": "Withdrawn settings",
}
WITHDRAWN_CODES: frozenset[str] = frozenset({"EH290", "EH407", "EH418", "EH610", "EH890"})
"""Codes of rules that are gone; never given again."""


def _assigned() -> Iterator[Rule]:
    """Yield what the modules assign; a rule that another module imports comes twice."""
    for path in Path(__file__).parent.glob("*/[!_]*.py"):
        module = import_module(f"{__package__}.{path.parent.name}.{path.stem}")
        yield from (each for each in vars(module).values() if isinstance(each, Rule))


ALL_RULES: tuple[Rule, ...] = tuple(
    sorted({id(rule): rule for rule in _assigned()}.values(), key=lambda rule: rule.code)
)
