"""Every code that a failure can have: whose fault, what it means and what to do."""

from controlplane.domain.failure_catalogue.catalogue import CATALOGUE, Family
from controlplane.domain.failure_catalogue.entry import Entry
from controlplane.domain.failure_catalogue.reference import write_reference

__all__ = ["CATALOGUE", "Entry", "Family", "write_reference"]
