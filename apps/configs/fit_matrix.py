"""GPU kinds x precision x number of GPUs for one draft, and what a taken cell changes in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import Team
from apps.configs.form_values import stack_of, value_at
from apps.configs.selectors import HostOffers, facts_known, offers_of_hosts
from controlplane.domain.facts.gpus import CPU, GPUS
from controlplane.domain.facts.quantization import TRIED, quantizes
from controlplane.domain.memory import FitRow, GpuOffer, every_offer, fit
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.serving_memory import memory_by_choice
from controlplane.domain.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One kind of GPU in one precision: the numbers of GPUs that hold it, or why none does."""

    precision: str
    rows: Sequence[FitRow]
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class KindLine:
    """One kind of GPU over all precisions."""

    kind: str
    owned: bool
    memory_bytes: int
    cells: Sequence[Cell]

    @property
    def holds_it(self) -> bool:
        return any(cell.rows for cell in self.cells)


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """What a draft fits on; `waits` where its checkpoint was not read yet."""

    waits: str = ""
    precisions: Sequence[str] = TRIED
    lines: Sequence[KindLine] = ()


def matrix_of(*, team: Team, spec: Spec | None, might_get: bool) -> Matrix:
    """Return where the draft fits: on the GPUs that are there, or on every kind."""
    if spec is None:
        return Matrix(waits="The checks name what has to be mended first.")
    facts = facts_known(team=team, checkpoint=spec.checkpoint)
    if facts is None:
        return Matrix(waits="The checkpoint's files were not read yet.")
    hosts = offers_of_hosts()
    memory_of = memory_by_choice(
        spec, facts,
        started=lambda kind: hosts.runtimes(kind=kind, pool=spec.pool),
        ran=lambda kind: hosts.versions(kind=kind, pool=spec.pool),
    )  # fmt: skip
    offers = _offers(hosts, might_get)
    rows = fit(facts, offers, spec=spec, runtime=memory_of, with_refused=True)
    return Matrix(precisions=_precisions(rows), lines=tuple(_lines(rows)))


def cell_patch(data: Mapping[str, Any], taken: str) -> Mapping[str, Any]:
    """Return what taking a cell changes; nothing where it is no cell."""
    kind, precision, tensor, pipeline = [*taken.split(), "", "", "", ""][:4]
    counts = tensor.isdecimal() and pipeline.isdecimal() and len(tensor + pipeline) <= 4
    if kind not in GPUS or precision not in TRIED or not counts:
        return {}
    devices = int(tensor) * int(pipeline)
    patch: dict[str, Any] = {
        "resources.accelerator": kind if devices == 1 else f"{kind}:{devices}",
        "trt_llm.build.quantization_type": precision if quantizes(precision) else None,
    }
    if stack_of(data) == "v2":
        patch["trt_llm.runtime.tensor_parallel_size"] = int(tensor) if int(tensor) > 1 else None
    else:
        patch["trt_llm.build.tensor_parallel_count"] = int(tensor) if int(tensor) > 1 else None
        patch["trt_llm.build.pipeline_parallel_count"] = (
            int(pipeline) if int(pipeline) > 1 else None
        )
    named = RUNTIMES.get(str(value_at(data, "enginehouse.runtime")))
    if named is not None and not named.needs_gpu:
        patch["enginehouse.runtime"] = None
    return {path: value for path, value in patch.items() if value != value_at(data, path)}


def _offers(hosts: HostOffers, might_get: bool) -> Sequence[GpuOffer]:
    owned: dict[str, GpuOffer] = {}
    for each in hosts.devices:
        offer = GpuOffer(kind=each.kind, count=each.count, memory_bytes=each.memory_bytes)
        owned[each.kind] = max(owned.get(each.kind, offer), offer, key=lambda one: one.count)
    others = every_offer() if might_get else ()
    offers = (*owned.values(), *(offer for offer in others if offer.kind not in owned))
    return [offer for offer in offers if offer.kind in GPUS and offer.kind != CPU]


def _precisions(rows: Sequence[FitRow]) -> Sequence[str]:
    tried = {row.quantization_type for row in rows}
    return [name for name in TRIED if name in tried]


def _lines(rows: Sequence[FitRow]) -> Iterator[KindLine]:
    offers = {row.offer.kind: row.offer for row in rows}
    by_size = sorted(offers.values(), key=lambda each: (not each.owned, each.memory_bytes))
    for offer in by_size:
        yield KindLine(
            kind=offer.kind,
            owned=offer.owned,
            memory_bytes=offer.memory_bytes,
            cells=[
                _cell([row for row in rows if row.offer == offer], name)
                for name in _precisions(rows)
            ],
        )


def _cell(rows: Sequence[FitRow], precision: str) -> Cell:
    here = [row for row in rows if row.quantization_type == precision]
    held = sorted((row for row in here if row.fits), key=lambda row: row.devices)
    widest = max(here, key=lambda row: row.devices, default=None)
    reason = "; ".join(widest.reasons) if widest and not held else ""
    return Cell(precision=precision, rows=held, reason=reason)
