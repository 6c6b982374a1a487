"""Two features whose combination is less than either alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.domain.facts import sources
from controlplane.domain.facts.sources import Source
from controlplane.domain.runtimes.capability import Feature, Support


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two features, what a runtime makes of them together, and the versions that it is so in."""

    features: tuple[Feature, Feature]
    support: Support
    how: str
    source: Source
    since: str = ""
    """The first version; empty for all from the oldest on."""
    before: str = ""
    """The first version in which it is no longer so; empty where it still is."""

    def __post_init__(self) -> None:
        if self.support is Support.NATIVE:
            raise ValueError("a pair that is as asked stands in no table")

    def is_of(self, one: Feature, other: Feature) -> bool:
        return {one, other} == set(self.features)

    def holds_in(self, version: str, versions: Sequence[str]) -> bool:
        place = versions.index(version)
        since = versions.index(self.since) if self.since else 0
        before = versions.index(self.before) if self.before else len(versions)
        return since <= place < before


EVERYWHERE = (
    Pair(
        features=(Feature.POOLING, Feature.LOOKAHEAD),
        support=Support.REFUSED,
        how="an encoder generates no tokens, so there is nothing to draft",
        source=sources.engines_overview("Feature availability"),
    ),
    Pair(
        features=(Feature.POOLING, Feature.ADAPTERS),
        support=Support.REFUSED,
        how="adapters serve text generation only",
        source=sources.truss("trt_llm_config.py, lora_adapters"),
    ),
)
"""Pairs that no runtime offers, because builds and gateway do not."""
