"""EH7: LoRA adapters."""

from controlplane.domain.rules.adapters import (
    largest_rank,
    names_and_kinds,
    ranks_and_sources,
)

RULES = (
    *names_and_kinds.RULES,
    *ranks_and_sources.RULES,
    *largest_rank.RULES,
)
