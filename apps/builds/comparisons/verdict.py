from collections.abc import Iterator, Mapping, Sequence

from apps.builds.comparisons.comparison import ComparedPart, ComparedRow
from apps.builds.models import Build
from apps.ui import formats
from controlplane.domain.lifecycle import BuildState

_MOST_NAMED = 2
_UNSET = "unset"
_FIGURES = (
    ("size", "size_bytes", "its artifact is {percent} {word}", ("smaller", "larger")),
    ("smoke_test", "tokens_per_second", "it answered {percent} {word}", ("slower", "faster")),
    ("plan", "capacity.kv_tokens", "it holds {percent} {word} tokens", ("fewer", "more")),
)
_LEAST_SHARE = 0.005
"""A change that is said: less than half a percent is none."""

_STATES: Mapping[str, str] = {
    BuildState.SUCCEEDED: "succeeded",
    BuildState.FAILED: "failed",
    BuildState.CANCELLED: "were cancelled",
}


def verdict_of(left: Build, right: Build, parts: Sequence[ComparedPart]) -> str:
    sentences = [_outcome(left, right), _changed(parts), *_figures(parts)]
    return f"{'; '.join(filter(None, sentences))}."


def _outcome(left: Build, right: Build) -> str:
    if left.state == right.state:
        return f"Both builds {_STATES.get(right.state, 'are ' + right.state)}"
    return f"Build {right.number} {_is(right)} and build {left.number} {_is(left)}"


def _is(build: Build) -> str:
    words = _STATES.get(build.state, f"is {build.state}")
    return words.replace("were", "was")


def _changed(parts: Sequence[ComparedPart]) -> str:
    config = [row for part in parts if part.name == "config" for row in part.rows if row.differs]
    if not config:
        return "of one config" if _is_same(parts) else "of one config with other inputs or tools"
    if len(config) > _MOST_NAMED:
        return f"{len(config)} settings differ"
    return " and ".join(_setting(row) for row in config)


def _is_same(parts: Sequence[ComparedPart]) -> bool:
    named = [part for part in parts if part.name in ("inputs", "tools")]
    return not any(
        row.left is not None and row.right is not None and row.differs
        for part in named
        for row in part.rows
    )


def _setting(row: ComparedRow) -> str:
    name = row.name or f"`{row.label}`"
    left, right = (
        _UNSET if value is None else words
        for value, words in ((row.left, row.left_words), (row.right, row.right_words))
    )
    return f"{name} {left} \u2192 {right}"


def _figures(parts: Sequence[ComparedPart]) -> Iterator[str]:
    rows = {(part.name, row.label): row for part in parts for row in part.rows}
    for part, label, words, (less, more) in _FIGURES:
        row = rows.get((part, label))
        if row is None or not row.change:
            continue
        share = row.right / row.left - 1
        if abs(share) >= _LEAST_SHARE:
            word = more if share > 0 else less
            yield words.format(percent=_percent(abs(share)), word=word)


def _percent(share: float) -> str:
    return f"{share * 100:.{0 if share >= 0.1 else 1}f}{formats.THIN_SPACE}%"
