"""Rows into tokens: what a model is calibrated on, and what it is measured on afterwards."""

import hashlib
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Any

from controlplane.domain.failures.registry import calibration as calibration_kinds
from workers.build_steps.calibration.dataset import OpenDataset
from workers.build_steps.calibration.texts import Texts
from workers.build_steps.failures import StepFailure

SEED = 20_260_101
SAMPLES_FILE = "samples.json"
"""Where `calibrate` leaves what it used and held out, for the gate."""
SHORTEST_TOKENS = 16
"""Rows of fewer tokens are titles and blanks, of which scales learn nothing."""
_HELD_OUT_SHARE = 8
_HELD_OUT_BOUNDS = (8, 64)
_FEWEST_HELD_OUT = 4
_FEWEST_USABLE = 8
_CHOSEN_ON_SHARE = 4
_MOST_CHOSEN_ON = 256


@dataclass(frozen=True, kw_only=True)
class Sample:
    row: int
    """Number of the row in its split, from 1."""
    tokens: tuple[int, ...]
    truncated: bool

    @property
    def key(self) -> str:
        """The digest of the tokens, by which the gate tells samples apart."""
        return hashlib.sha256(repr(self.tokens).encode()).hexdigest()


@dataclass(kw_only=True)
class Counts:
    rows_read: int = 0
    skipped_empty: int = 0
    skipped_short: int = 0
    skipped_duplicate: int = 0
    truncated: int = 0

    def in_words(self) -> str:
        return (
            f"{self.rows_read} rows read, {self.skipped_empty} empty, {self.skipped_short} shorter "
            f"than {SHORTEST_TOKENS} tokens, {self.skipped_duplicate} repeated"
        )

    def to_json(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class SampleSet:
    """Samples drawn from one data set: disjoint, in a fixed order for a fixed seed."""

    calibration: tuple[Sample, ...]
    held_out: tuple[Sample, ...]
    chosen_on: tuple[Sample, ...] = ()
    """By which layers are chosen that stay in 16 bits: neither calibrated nor measured on."""
    column: str
    counts: Counts = field(default_factory=Counts)

    def divided(self) -> "SampleSet":
        """Return the set with a part of what is calibrated on for choosing layers instead."""
        chosen_on = min(len(self.calibration) // _CHOSEN_ON_SHARE, _MOST_CHOSEN_ON)
        first = len(self.calibration) - max(1, chosen_on)
        return replace(
            self, calibration=self.calibration[:first], chosen_on=self.calibration[first:]
        )


def draw(
    dataset: OpenDataset, tokenizer: Any, *, size: int, max_length: int, seed: int = SEED
) -> SampleSet:
    """Return up to `size` samples to calibrate on and some others to measure on.

    Rows are taken from the front until there are enough, then shuffled: nothing more is fetched,
    and the two parts are of one kind. Raises StepFailure when there is too little text.
    """
    low, high = _HELD_OUT_BOUNDS
    held_out = min(max(size // _HELD_OUT_SHARE, low), high)
    texts = Texts(dataset.identity.dataset, tokenizer, known_column=dataset.column)
    counts = Counts()
    pool = list(
        usable_samples(dataset, texts, counts, count=size + held_out, max_length=max_length)
    )
    if len(pool) < _FEWEST_USABLE:
        raise StepFailure.of(
            calibration_kinds.TOO_FEW,
            name=dataset.identity.dataset,
            used=len(pool),
            needed=_FEWEST_USABLE,
            counted=counts.in_words(),
        )
    random.Random(seed).shuffle(pool)  # nosec B311 (reproducible by design)
    if len(pool) < size + held_out:
        held_out = max(_FEWEST_HELD_OUT, min(held_out, len(pool) // _HELD_OUT_SHARE))
    return SampleSet(
        calibration=tuple(pool[held_out:][:size]),
        held_out=tuple(pool[:held_out]),
        column=texts.column,
        counts=counts,
    )


def draw_unseen(
    dataset: OpenDataset, tokenizer: Any, *, size: int, max_length: int, used: Collection[str]
) -> tuple[list[Sample], Counts]:
    """Return up to `size` samples whose keys are not among those that were calibrated on."""
    texts = Texts(dataset.identity.dataset, tokenizer, known_column=dataset.column)
    counts = Counts()
    # Enough for the case that every used sample comes first.
    count = size + len(used)
    samples = usable_samples(dataset, texts, counts, count=count, max_length=max_length)
    return list(islice((each for each in samples if each.key not in used), size)), counts


def sample_keys(samples: Sequence[Sample]) -> list[str]:
    """Return the keys, sorted: equal lists mean equal samples."""
    return sorted(each.key for each in samples)


def usable_samples(
    dataset: OpenDataset, texts: Texts, counts: Counts, *, count: int, max_length: int
) -> Iterator[Sample]:
    """Yield that many samples, from the first row on; counts what it passes over."""
    seen = set[str]()
    for number, row in enumerate(dataset.rows(), start=1):
        counts.rows_read = number
        tokens = texts.tokens(number, row, max_length)
        if not tokens:
            counts.skipped_empty += 1
            continue
        truncated = len(tokens) > max_length
        sample = Sample(row=number, tokens=tuple(tokens[:max_length]), truncated=truncated)
        if len(sample.tokens) < SHORTEST_TOKENS:
            counts.skipped_short += 1
        elif sample.key in seen:
            counts.skipped_duplicate += 1
        else:
            seen.add(sample.key)
            counts.truncated += truncated
            yield sample
        if len(seen) == count:
            return
