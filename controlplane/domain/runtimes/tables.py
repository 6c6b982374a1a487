"""A runtime's table in one version, kinds of GPU with the same cells side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from controlplane.domain.facts.gpus import CPU, GPUS
from controlplane.domain.runtimes.capability import Capability, Feature, Support
from controlplane.domain.runtimes.pairs import Pair
from controlplane.domain.runtimes.runtime import Runtime
from controlplane.domain.runtimes.together import pairs_of

_A_TEST = "a test of the project"


@dataclass(frozen=True, kw_only=True)
class Column:
    """Kinds that the runtime makes the same of; all of them owned, or none."""

    kinds: tuple[str, ...]
    is_owned: bool


@dataclass(frozen=True, kw_only=True)
class Cell:
    column: Column
    capability: Capability


@dataclass(frozen=True, kw_only=True)
class Way:
    """How or why not, and the kinds that it is said of; without kinds where it is said of all."""

    kinds: tuple[str, ...]
    capability: Capability
    says_source: bool
    """Whether the next way has another source, or there is none."""

    @property
    def seen_in(self) -> tuple[str, ...]:
        """Names of the kept runs that show it; of tests, that there is one."""
        kept = (each.kept for each in self.capability.proofs)
        return tuple(dict.fromkeys(_A_TEST if "::" in each else each.rpartition("/")[2]
                                   for each in kept))  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Kinds:
    """Kinds, those that are owned apart, and what the runtime makes of a feature on them."""

    support: Support | None
    owned: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    feature: Feature
    cells: tuple[Cell, ...]

    @property
    def kinds(self) -> tuple[Kinds, ...]:
        """The kinds by what the runtime makes of the feature on them, the best first."""
        parts = (self._kinds(support) for support in Support)
        return tuple(each for each in parts if each.owned or each.others)

    @property
    def is_of_all(self) -> bool:
        return len(self.kinds) == 1

    @property
    def ways(self) -> tuple[Way, ...]:
        kinds: dict[str, list[str]] = {}
        for cell in self.cells:
            kinds.setdefault(cell.capability.how, []).extend(cell.column.kinds)
        first = {cell.capability.how: cell.capability for cell in reversed(self.cells)}
        sources = [first[how].source for how in kinds]
        return tuple(
            Way(
                kinds=() if len(kinds) == 1 else tuple(kinds[how]),
                capability=first[how],
                says_source=[source] != sources[number + 1 : number + 2],
            )
            for number, (how, source) in enumerate(zip(kinds, sources, strict=True))
        )

    def _kinds(self, support: Support) -> Kinds:
        columns = [cell.column for cell in self.cells if cell.capability.support is support]
        return _kinds_of(columns, support)


@dataclass(frozen=True, kw_only=True)
class RuntimeTable:
    runtime: Runtime
    version: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]

    @property
    def taken(self) -> Kinds:
        """The kinds that it serves on at all, or every kind where that is none."""
        row = next(each for each in self.rows_of_taken if each.feature is not Feature.ACCELERATOR)
        columns = [cell.column for cell in row.cells]
        return _kinds_of(columns)

    @property
    def rows_of_taken(self) -> tuple[Row, ...]:
        """The rows without kinds that it takes for nothing, which the row of accelerators names."""
        on = next(row for row in self.rows if row.feature is Feature.ACCELERATOR)
        taken = [cell.column for cell in on.cells if not cell.capability.is_refused]
        return tuple(row if row is on or not taken else _of_columns(row, taken)
                     for row in self.rows)  # fmt: skip


def table_of(
    runtime: Runtime, version: str, *, owned: Sequence[str] = (), only_owned: bool = False
) -> RuntimeTable:
    """Return the table of a version, the columns of owned kinds first."""
    kinds = [kind for kind in GPUS if kind != CPU or not runtime.needs_gpu]
    here = [kind for kind in kinds if kind in owned]
    away = [] if only_owned and here else [kind for kind in kinds if kind not in owned]
    columns = (*_columns(runtime, version, here, True), *_columns(runtime, version, away, False))
    return RuntimeTable(
        runtime=runtime,
        version=version,
        columns=columns,
        rows=tuple(_row(runtime, version, feature, columns) for feature in Feature),
        pairs=tuple(pairs_of(runtime, version)),
    )


def _columns(
    runtime: Runtime, version: str, kinds: Sequence[str], is_owned: bool
) -> Iterator[Column]:
    alike: dict[tuple[Capability, ...], list[str]] = {}
    for kind in kinds:
        cells = tuple(runtime.capabilities.capability(each, kind, version) for each in Feature)
        alike.setdefault(cells, []).append(kind)
    for column in alike.values():
        yield Column(kinds=tuple(column), is_owned=is_owned)


def _row(runtime: Runtime, version: str, feature: Feature, columns: Sequence[Column]) -> Row:
    capability_in = runtime.capabilities.capability
    cells = [Cell(column=each, capability=capability_in(feature, each.kinds[0], version))
             for each in columns]  # fmt: skip
    return Row(feature=feature, cells=tuple(cells))


def _of_columns(row: Row, columns: Sequence[Column]) -> Row:
    return Row(
        feature=row.feature, cells=tuple(cell for cell in row.cells if cell.column in columns)
    )


def _kinds_of(columns: Sequence[Column], support: Support | None = None) -> Kinds:
    return Kinds(
        support=support,
        owned=tuple(kind for each in columns if each.is_owned for kind in each.kinds),
        others=tuple(kind for each in columns if not each.is_owned for kind in each.kinds),
    )
