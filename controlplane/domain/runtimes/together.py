"""What a runtime makes of two features that a config asks for together."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from controlplane.domain.runtimes.capability import Capability, Feature, Support
from controlplane.domain.runtimes.pairs import EVERYWHERE, Pair
from controlplane.domain.runtimes.runtime import Runtime

EVERY_PAIR = tuple(combinations(Feature, 2))
_WEAKEST_FIRST = (Support.REFUSED, Support.UNTESTED, Support.EMULATED, Support.NATIVE)


def together(runtime: Runtime, one: Feature, other: Feature, kind: str, version: str) -> Capability:
    """Return a cell of the matrix of pairs: the weaker of the two, or what the pair itself is."""
    table = runtime.capabilities
    alone = [table.capability(feature, kind, version) for feature in (one, other)]
    weaker = min(alone, key=lambda capability: _WEAKEST_FIRST.index(capability.support))
    pair = listed_pair(runtime, one, other, version)
    if pair is None or weaker.is_refused:
        return weaker
    return replace(
        weaker, support=pair.support, how=pair.how, source=pair.source, claimed=None, proofs=()
    )


def listed_pair(runtime: Runtime, one: Feature, other: Feature, version: str) -> Pair | None:
    """Return what is said of the two in a version; None where they are as each alone."""
    return next((pair for pair in pairs_of(runtime, version) if pair.is_of(one, other)), None)


def pairs_of(runtime: Runtime, version: str) -> Iterator[Pair]:
    """Yield the pairs that are less than either alone in a version; none of an unknown one."""
    versions = runtime.capabilities.VERSIONS
    for pair in (*EVERYWHERE, *runtime.pairs):
        if version in versions and pair.holds_in(version, versions):
            yield pair
