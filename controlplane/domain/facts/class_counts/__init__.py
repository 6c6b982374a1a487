"""Parameters by the class that `config.json` names, as transformers' own classes come to them."""

from controlplane.domain.facts.class_counts.accuracy import COUNTED_WITHIN, accuracy_of
from controlplane.domain.facts.class_counts.counting import count_class

__all__ = ["COUNTED_WITHIN", "accuracy_of", "count_class"]
