"""The native engine as the rest of the program sees it: all of it pure."""

from controlplane.domain.runtimes.native import (
    capabilities,
    failures,
    metrics,
    parse,
    proofs,
    render,
    routes,
)

__all__ = ["capabilities", "failures", "metrics", "parse", "proofs", "render", "routes"]
