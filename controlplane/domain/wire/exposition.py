"""What Prometheus reads, as text or OpenMetrics, written as it goes.

A page may have a line for each of thousands, and 0.2 ms a deployment: prometheus_client took
0.56 ms for two of its ten histograms. Formats: prometheus.io/docs/instrumenting/exposition_formats.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate, chain
from typing import TypeVar

_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"', "\0": ""})
_HEAD = "\0"
_TOTAL = "_total"
_PIECE_LETTERS = 64 * 1024
"""Lines of more at once do not stay in a processor's cache, and took a third longer to write."""
_PART_BYTES = 512 * 1024
_Text = TypeVar("_Text", str, bytes)


class Form(StrEnum):
    """Either of them, by its content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def form_for(accept: str) -> Form:
    """Return OpenMetrics for who names it, as Prometheus does, and text for all others."""
    return Form.OPEN_METRICS if "application/openmetrics-text" in accept else Form.TEXT


class Page:
    """Add one metric after another; take the bytes, whole or in parts."""

    def __init__(self, form: Form = Form.TEXT) -> None:
        self._is_open = form is Form.OPEN_METRICS
        self._metrics: list[Iterable[str]] = []

    @property
    def shows_exemplars(self) -> bool:
        return self._is_open

    def add(self, name: str, kind: str, words: str, lines: Iterable[str]) -> None:
        """Add one metric with its samples, which may be written only when they are taken.

        A counter's name ends in `_total`.
        """
        named = name.removesuffix(_TOTAL) if self._is_open and kind == "counter" else name
        self._metrics.append((f"# HELP {named} {words}\n# TYPE {named} {kind}\n",))
        self._metrics.append(lines)

    def content(self) -> bytes:
        """Return the whole page; it can be taken once."""
        return b"".join(self.parts())

    def parts(self) -> Iterator[bytes]:
        """Give the page in parts of some size, so that a large one never is in memory whole."""
        end = ["# EOF\n"] if self._is_open else []
        lines = chain.from_iterable([*self._metrics, end])
        pieces = ("".join(run).encode() for run in _runs(lines, _PIECE_LETTERS))
        for run in _runs(pieces, _PART_BYTES):
            yield b"".join(run)


def _runs(items: Iterable[_Text], least: int) -> Iterator[list[_Text]]:
    """Give all items in order, in lists that are so long together; the last may be shorter."""
    run: list[_Text] = []
    length = 0
    for item in items:
        run.append(item)
        length += len(item)
        if length >= least:
            yield run
            run, length = [], 0
    if run:
        yield run


def labels_text(names: Sequence[str], values: Iterable[str]) -> str:
    return ",".join(
        f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True)
    )


def sample(name: str, labels: str, value: float) -> str:
    return f"{name}{{{labels}}} {float(value)}\n" if labels else f"{name} {float(value)}\n"


class HistogramWriter:
    """Writes one histogram for one label set after another; what they share is prepared once."""

    def __init__(self, name: str, bounds: Sequence[float]) -> None:
        edges = [*(str(float(bound)) for bound in bounds), "+Inf"]
        self._name = name
        self._pattern = "".join(f'{_HEAD}le="{edge}"}} %s\n' for edge in edges)

    def lines(
        self,
        labels: str,
        counts: Sequence[float | str],
        total: float | str,
        exemplars: Mapping[int, str] | None = None,
    ) -> str:
        """Return the lines of one label set, of counts by bucket; nothing without any count.

        `counts` has one more than there are bounds; numbers may be texts. `exemplars` are texts
        of `exemplar`, by bucket.
        """
        # Whole numbers are written four times as fast as the floats that they are stored as.
        sofar: list[int | str] = list(accumulate(map(int, counts)))
        if not sofar or not sofar[-1]:
            return ""
        count = sofar[-1]
        for bucket, text in (exemplars or {}).items():
            sofar[bucket] = f"{sofar[bucket]} # {text}"
        name, separator = self._name, "," if labels else ""
        # Put in last: patterns are read letter by letter, and labels may hold a percent sign.
        lines = (self._pattern % tuple(sofar)).replace(_HEAD, f"{name}_bucket{{{labels}{separator}")
        named = f"{{{labels}}}" if labels else ""
        return f"{lines}{name}_count{named} {count}\n{name}_sum{named} {total}\n"


def exemplar(request_id: str, value: float | str, at: float | str | None = None) -> str:
    when = "" if at is None else f" {at}"
    return f'{{request_id="{_escaped(request_id)}"}} {value}{when}'


def _escaped(value: str) -> str:
    # Hardly any has one of them, and to translate takes ten times as long as to look.
    if '"' in value or "\\" in value or "\n" in value or "\0" in value:
        return value.translate(_ESCAPES)
    return value
