"""EH7: LoRA adapters."""

from controlplane.domain.rules.adapters import (
    classes_without_adapters,
    largest_rank,
    names_and_kinds,
    ranks_and_sources,
)

RULES = (
    *names_and_kinds.RULES,
    *ranks_and_sources.RULES,
    *largest_rank.RULES,
    *classes_without_adapters.RULES,
)
