"""EH9: settings that were taken back, or that do nothing here."""

from controlplane.domain.rules.withdrawn import (
    ignored,
    withdrawn,
)

RULES = (
    *ignored.RULES,
    *withdrawn.RULES,
)
