"""The runtimes that this host's settings name; whether they work is seen when one is started."""

from collections.abc import Mapping

from controlplane.domain.runtimes import RUNTIMES


def named_runtimes(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the runtimes that this host is set up to start, the built-in one always."""
    return frozenset(name for name, each in RUNTIMES.items() if each.is_named(environment))
