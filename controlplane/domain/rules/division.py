"""Fixes that change over how many GPUs, and of which kind, a model is divided."""

from collections.abc import Iterator

from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.memory import devices_that_fit
from controlplane.domain.memory.sizing import DEVICES_PER_HOST, divides
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.rule import Fix, Patch
from controlplane.domain.runtimes.capability import Feature
from controlplane.domain.runtimes.choice import runtime_on

ACCELERATOR = "resources.accelerator"
_OTHER_RANKS = ("trt_llm.build.pipeline_parallel_count", "trt_llm.build.sequence_parallel_count")
_MOST_KINDS = 3


def accelerator(kind: str, count: int) -> str:
    return kind if count == 1 else f"{kind}:{count}"


def named(kind: str, count: int) -> str:
    return f"`{kind}`" if count == 1 else f"{count} of `{kind}`"


def divided(c: Context, count: int, kind: str | None = None) -> Patch:
    """Return the patch to so many GPUs, over all of which tensor parallelism divides."""
    patch: dict[str, object] = {
        ACCELERATOR: accelerator(kind or c.gpu.kind, count),
        c.spec.tensor_parallel_path: count,
    }
    build = c.spec.engine_build
    if build.pipeline_parallel_count != 1 or build.sequence_parallel_count != 1:
        patch |= dict.fromkeys(_OTHER_RANKS)
    return patch


def division_label(devices: int, ranks: int) -> str:
    """Return so many GPUs, over which so many ranks divide, as the label of a fix has them."""
    gpus = "1 GPU" if devices == 1 else f"{devices} GPUs"
    return f"Use {gpus} and tensor parallel {ranks}"


def division(c: Context, count: int) -> Fix:
    return Fix(
        label=division_label(count, count),
        patch=lambda _: divided(c, count),
        safe=True,
    )


def is_served_on(c: Context) -> bool:
    """Return whether the runtime serves it on this kind of GPU; if not, more do not help."""
    if c.can(Feature.ACCELERATOR).is_refused:
        return False
    is_known = c.memory.divides and c.has("checkpoint")
    return not is_known or c.engine.takes(c.spec, c.checkpoint)


def divisions(c: Context) -> Iterator[Fix]:
    """Yield the divisions over GPUs of this kind that the heads allow, the nearest number first."""
    if c.spec.accelerator is None or c.spec.base_model.is_encoder or not is_served_on(c):
        return
    asked_count = c.spec.accelerator_count
    counts = [n for n in range(1, DEVICES_PER_HOST + 1) if _divides(c, n)]
    nearest = sorted(counts, key=lambda n: (n > asked_count, abs(n - asked_count)))
    yield from (division(c, count) for count in nearest[:2])
    if (needed := _fewest_that_hold(c, c.device)) and needed not in nearest[:2]:
        yield division(c, needed)


def other_kinds(c: Context) -> Iterator[Fix]:
    """Yield the kinds of GPU that hold the model as it is, those with the least memory first."""
    kinds = []
    for offer in c.known.devices or ():
        if offer.kind not in (CPU, c.gpu.kind) and (count := _fewest_that_hold(c, offer)):
            kinds.append((count * offer.memory_bytes, offer.kind, count))
    for _, kind, count in sorted(kinds)[:_MOST_KINDS]:
        yield _other_kind(c, kind, count)


def _other_kind(c: Context, kind: str, count: int) -> Fix:
    patch = dict(divided(c, count, kind))
    if c.spec.base_model.is_encoder:
        patch = {ACCELERATOR: kind}
    if not c.engine.needs_gpu:
        patch |= {"enginehouse.runtime": None, "model_metadata.enginehouse.runtime": None}
    return Fix(label=f"Use {named(kind, count)}", patch=lambda _: patch, safe=False)


def _divides(c: Context, count: int) -> bool:
    return not c.has("checkpoint") or divides(c.checkpoint, count, c.memory, c.spec)


def _fewest_that_hold(c: Context, offer: DeviceOffer | None) -> int | None:
    if offer is None or not c.has("checkpoint"):
        return None
    memory = runtime_on(offer.kind, c.spec).memory
    count = devices_that_fit(c.spec, c.checkpoint, offer, memory)
    return count if count is not None and count <= offer.count else None
