"""Fixes that name another runtime for the same config."""

from collections.abc import Iterator

from controlplane.domain.rules.context import Context
from controlplane.domain.rules.division import other_kinds
from controlplane.domain.rules.rule import Fix, Patch
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.choice import able_runtimes


def others_started(c: Context) -> list[str]:
    if c.spec.accelerator is None:
        return []
    return [
        runtime
        for runtime in able_runtimes(c.spec, c.known.checkpoint)
        if runtime != c.runtime and (c.known.runtimes is None or runtime in c.known.runtimes)
    ]


def name_runtime(runtime: str) -> Patch:
    return {"enginehouse.runtime": runtime, "model_metadata.enginehouse.runtime": None}


def other_engines(c: Context) -> Iterator[Fix]:
    """Yield the other runtimes on the same GPUs, then the GPUs of other kinds."""
    yield from map(_use, others_started(c))
    yield from other_kinds(c)


def _use(runtime: str) -> Fix:
    title = RUNTIMES[runtime].title
    return Fix(label=f"Use {title}", patch=lambda _: name_runtime(runtime), safe=False)
