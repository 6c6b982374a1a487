"""The lookahead settings that a tuning tries, and what each is in a config."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from controlplane.domain.commands.lookahead import SPECULATOR, drafted_by, lookahead_for
from controlplane.domain.spec import Spec

FACTORS = (1, 4)
"""Of the documented rule, and of ours."""
DRAFT_FACTOR = "enginehouse.draft_factor"


class DraftManner(StrEnum):
    """How a runtime makes the length of a draft out of what it found."""

    OFF = "off"
    BY_MATCH = "by_match"
    """A longer match drafts more."""
    FILLED = "filled"
    """Our drafter, always as many tokens, while they pay."""
    SUFFIX = "suffix"
    """What follows the longest suffix that stood before, always as many tokens."""


@dataclass(frozen=True, kw_only=True)
class LookaheadSetting:
    manner: DraftManner = DraftManner.OFF
    longest_draft_tokens: int = 0
    draft_factor: int = 1

    @property
    def is_on(self) -> bool:
        return self.manner is not DraftManner.OFF

    @property
    def words(self) -> str:
        if not self.is_on:
            return "no lookahead"
        if self.manner is not DraftManner.BY_MATCH:
            return f"drafts of {self.longest_draft_tokens} tokens"
        rule = "the documented rule" if self.draft_factor == 1 else f"factor {self.draft_factor}"
        return f"drafts of up to {self.longest_draft_tokens} tokens by {rule}"

    @property
    def patch(self) -> Mapping[str, Any]:
        if not self.is_on:
            return {SPECULATOR: None, DRAFT_FACTOR: None}
        if self.manner is not DraftManner.BY_MATCH:
            return {SPECULATOR: lookahead_for(self.longest_draft_tokens), DRAFT_FACTOR: None}
        sizes = {**lookahead_for(1), "lookahead_ngram_size": self.longest_draft_tokens}
        factor = None if self.draft_factor == 1 else self.draft_factor
        return {SPECULATOR: sizes, DRAFT_FACTOR: factor}

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        return cls(
            manner=DraftManner(fields["manner"]),
            longest_draft_tokens=fields["longest_draft_tokens"],
            draft_factor=fields["draft_factor"],
        )


OFF = LookaheadSetting()


def settings_to_try(
    manner: DraftManner, lengths: Sequence[int], spec: Spec
) -> tuple[LookaheadSetting, ...]:
    return tuple(dict.fromkeys([*_grid(manner, lengths), setting_of(manner, spec)]))


def setting_of(manner: DraftManner, spec: Spec) -> LookaheadSetting:
    speculator = spec.speculator
    if speculator is None:
        return OFF
    if manner is DraftManner.BY_MATCH:
        length = speculator.lookahead_ngram_size or 0
        factor = spec.settings.draft_factor
        return _setting(manner, length, factor) if length else OFF
    length = drafted_by(speculator) or 0
    return _setting(manner, length) if length else OFF


def _grid(manner: DraftManner, lengths: Sequence[int]) -> Iterator[LookaheadSetting]:
    yield OFF
    for length in lengths:
        for factor in FACTORS if manner is DraftManner.BY_MATCH else (1,):
            yield _setting(manner, length, factor)


def _setting(manner: DraftManner, length: int, factor: int = 1) -> LookaheadSetting:
    return LookaheadSetting(manner=manner, longest_draft_tokens=length, draft_factor=factor)
