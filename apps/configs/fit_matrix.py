"""GPU kinds x precision x number of GPUs for one draft: what each brings and what it costs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.accounts.models import Team
from apps.configs.fit_cells import cell_name, cell_patch
from apps.configs.fit_choices import Choice, Prices
from apps.configs.selectors import HostOffers, facts_known, offers_of_hosts
from apps.configs.services.examination import known_for
from apps.fleet.selectors import prices_now
from controlplane.domain.dotted import value_at
from controlplane.domain.facts.gpus import CPU, GPUS
from controlplane.domain.facts.quantization import NO_QUANT, TRIED
from controlplane.domain.memory import FitRow, GpuOffer, every_offer, fit
from controlplane.domain.rules.choice_errors import choice_errors
from controlplane.domain.runtimes.serving_memory import memory_by_choice
from controlplane.domain.spec import ParseResult, Spec


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One kind of GPU in one precision: what can be taken, the best first, or why nothing can."""

    precision: str
    choices: Sequence[Choice]
    reason: str = ""
    is_present: bool = False
    """Whether it is what the draft says now, held or not."""


@dataclass(frozen=True, kw_only=True)
class KindLine:
    kind: str
    owned: bool
    memory_bytes: int
    cells: Sequence[Cell]

    @property
    def choices(self) -> Sequence[Choice]:
        return [choice for cell in self.cells for choice in cell.choices]

    @property
    def holds_it(self) -> bool:
        return bool(self.choices)

    @property
    def rank(self) -> tuple[Any, ...]:
        """The kind with the cheapest token first, those that hold nothing last."""
        costs = [each.cost for each in self.choices if each.cost is not None]
        relative = min((each.row.relative_cost for each in self.choices), default=0.0)
        return not self.holds_it, not costs, min(costs, default=relative), self.memory_bytes


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """What a draft fits on; `waits` where its checkpoint was not read yet."""

    waits: str = ""
    precisions: Sequence[str] = TRIED
    lines: Sequence[KindLine] = ()
    prices: Prices = field(default_factory=Prices)
    only_owned: bool = False
    """Whether kinds that no host has are left out of sight."""

    @property
    def sequence_tokens(self) -> int | None:
        """The length of the requests that are counted; None for an encoder."""
        plans = [each.row.plan for line in self.lines for each in line.choices if each.row.plan]
        return None if not plans or plans[0].is_encoder else plans[0].sequence_tokens

    @property
    def what(self) -> str:
        """What speeds and costs are told of."""
        return "tokens" if self.sequence_tokens else "texts"

    @property
    def has_costs(self) -> bool:
        return any(each.price for line in self.lines for each in line.choices)

    @property
    def owns_some(self) -> bool:
        """Whether the filter would leave some kinds and hide others."""
        return len({line.owned for line in self.lines}) > 1


def matrix_of(
    *, team: Team, parsed: ParseResult, might_get: bool, only_owned: bool = False
) -> Matrix:
    """Return where the draft fits: on the GPUs that are there, or on every kind.

    Whatever the checks would block is not among it.
    """
    spec = parsed.spec
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
    rows = fit(facts, _offers(hosts, might_get), spec=spec, runtime=memory_of, with_refused=True)
    prices = Prices(own={kind: float(each.per_hour) for kind, each in prices_now().items()})
    data = parsed.data or {}
    lines = _lines(rows, data, prices, _refused(team, data, spec, rows, might_get))
    return Matrix(
        precisions=_precisions(rows),
        lines=tuple(sorted(lines, key=lambda line: line.rank)),
        prices=prices,
        only_owned=only_owned,
    )


def _refused(
    team: Team, data: Mapping[str, Any], spec: Spec, rows: Sequence[FitRow], might_get: bool
) -> Mapping[str, str]:
    """Return name of a cell -> what the checks would say against it."""
    fitting = [row for row in rows if row.fits]
    patches = [cell_patch(data, cell_name(row)) for row in fitting]
    known = known_for(team=team, spec=spec, might_get=might_get)
    errors = choice_errors(data, patches, known)
    return {
        cell_name(row): " ".join(f"{code}: {sentence}" for code, sentence in sentences.items())
        for row, sentences in zip(fitting, errors, strict=True)
        if sentences
    }


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


def _lines(
    rows: Sequence[FitRow], data: Mapping[str, Any], prices: Prices, refused: Mapping[str, str]
) -> Iterator[KindLine]:
    for offer in {row.offer.kind: row.offer for row in rows}.values():
        of_kind = [row for row in rows if row.offer == offer]
        yield KindLine(
            kind=offer.kind,
            owned=offer.owned,
            memory_bytes=offer.memory_bytes,
            cells=[
                _cell([row for row in of_kind if row.quantization_type == name], name, data,
                      prices, refused)
                for name in _precisions(rows)
            ],
        )  # fmt: skip


def _cell(
    rows: Sequence[FitRow], precision: str, data: Mapping[str, Any], prices: Prices,
    refused: Mapping[str, str],
) -> Cell:  # fmt: skip
    choices = [
        Choice(
            row=row,
            cost=prices.per_million(row),
            unit=prices.unit,
            is_present=not cell_patch(data, cell_name(row)),
        )
        for row in rows
        if row.fits and cell_name(row) not in refused
    ]
    widest = max(rows, key=lambda row: row.devices, default=None)
    reasons = (refused.get(cell_name(widest)) or "; ".join(widest.reasons)) if widest else ""
    return Cell(
        precision=precision,
        choices=sorted(choices, key=lambda each: each.rank),
        reason="" if choices else reasons,
        is_present=any((row.offer.kind, precision) == _present(data) for row in rows),
    )


def _present(data: Mapping[str, Any]) -> tuple[str, str]:
    kind = str(value_at(data, "resources.accelerator") or "").partition(":")[0]
    return kind, str(value_at(data, "trt_llm.build.quantization_type") or NO_QUANT)
