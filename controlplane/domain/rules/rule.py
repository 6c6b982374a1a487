"""The shape of a rule: what it sees, says and offers, with its source and its own examples."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controlplane.domain.facts.sources import Source
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec.choices import RuntimeChoice

Patch = Mapping[str, Any]

ALL_RUNTIMES = frozenset(RUNTIMES)
GPU_RUNTIMES = frozenset(name for name, runtime in RUNTIMES.items() if runtime.needs_gpu)
TRTLLM = frozenset({RuntimeChoice.TRTLLM.value})
VLLM = frozenset({RuntimeChoice.VLLM.value})
NATIVE = frozenset({RuntimeChoice.NATIVE.value})
"""For rules about what one engine alone does or lacks."""


class Severity(StrEnum):
    ERROR = "error"
    """The build would fail, or would serve wrong output."""
    WARNING = "warning"
    """It works, but slower, larger or less accurate than asked."""
    HINT = "hint"
    """A better choice exists, or a setting has no effect."""

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


@dataclass(frozen=True, kw_only=True)
class Fix:
    """A change to the config, shown as a button."""

    label: str | Callable[[Context], str]
    """What the button says; of the config where it names numbers."""
    patch: Callable[[Context], Patch | None]
    """Dotted path -> value (None removes); None where this config has no such fix."""
    safe: bool
    """True only if what the endpoint answers cannot change."""

    def label_for(self, context: Context) -> str:
        return self.label if isinstance(self.label, str) else self.label(context)


def _everywhere(_: Context) -> bool:
    return True


def _nothing_else(_: Context) -> Iterable[Fix]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One thing that can be wrong with a config."""

    code: str
    """Permanent and never reused."""
    name: str
    """Reads after "allow"."""
    severity: Severity
    fields: Callable[[Context], tuple[str, ...]]
    """Spec paths to mark; the first takes the focus."""
    when: Callable[[Context], bool]
    """Pure and total: no I/O, no clock, no exception once `needs` are there."""
    message: Callable[[Context], str]
    """What is wrong, in the user's own values, and why."""
    source: Source
    bad: Example
    good: Example
    runtimes: frozenset[str] = ALL_RUNTIMES
    concerns: Callable[[Context], bool] = _everywhere
    """Whether the config is of the kind that the rule is about; asked before `needs`."""
    needs: tuple[str, ...] = ()
    """Facts read; while one is missing the rule waits."""
    fix: Fix | None = None
    otherwise: Callable[[Context], Iterable[Fix]] = _nothing_else
    """Fixes for configs in which the first one does not help, the next choice first."""
    about_runtime: bool = False
    """Whether it says what the tables of runtimes say, which have a page."""
    may_mark: tuple[str, ...] = ()
    """Every path that `fields` may name, where its own bad example shows only some."""

    def fixes(self, context: Context) -> Iterator[Fix]:
        if self.fix:
            yield self.fix
        yield from self.otherwise(context)

    @property
    def anchor(self) -> str:
        return f"{self.code.lower()}-{self.name}"


def generates(c: Context) -> bool:
    return not c.spec.base_model.is_encoder


def on_gpu(concerns: Callable[[Context], bool]) -> Callable[[Context], bool]:
    return lambda c: c.spec.accelerator is not None and concerns(c)


def at(*paths: str) -> Callable[[Context], tuple[str, ...]]:
    """Return the fields of a rule whose paths do not depend on the stack."""
    return lambda _: paths


def limit(name: str, *others: str) -> Callable[[Context], tuple[str, ...]]:
    """Return the fields of a rule about a limit, which moves between the stacks."""
    return lambda c: (f"{c.spec.limits_path}.{name}", *others)
