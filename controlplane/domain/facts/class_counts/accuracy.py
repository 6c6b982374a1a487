"""How far the count of the layers may be trusted for a class."""

from controlplane.domain.facts.class_counts.rows import ABOUT, UNCOUNTED

COUNTED_WITHIN = 0.005
"""Share by which a count may be off that is called right."""


def accuracy_of(architecture: str | None) -> float | None:
    """Return the share by which the layers' count may be off; None where it says nothing."""
    if architecture in UNCOUNTED:
        return None
    return ABOUT.get(architecture or "", COUNTED_WITHIN)
