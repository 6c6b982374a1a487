"""What a simulation counted of one setting: steps, drafts, and how far drafts were accepted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from controlplane.domain.lookahead_tuning.settings import LookaheadSetting

_SHOWN_POSITIONS = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, kw_only=True)
class Counted:
    setting: LookaheadSetting
    tokens: int
    steps: int
    drafted_steps: int
    drafted_tokens: int
    accepted_at: Sequence[int]
    """Drafts of which at least so many tokens were accepted, from one on."""

    @property
    def accepted_tokens(self) -> int:
        """Of all drafts."""
        return sum(self.accepted_at)

    @property
    def tokens_per_step(self) -> float:
        return self.tokens / self.steps if self.steps else 0.0

    @property
    def drafted_share(self) -> float:
        return self.drafted_steps / self.steps if self.steps else 0.0

    @property
    def drafted_tokens_per_draft(self) -> float:
        return self.drafted_tokens / self.drafted_steps if self.drafted_steps else 0.0

    def cut(self, longest: int) -> tuple[float, float]:
        """Return tokens a step, and tokens a draft, where drafts may only be so long.

        What is accepted after a shorter draft is taken to be what was accepted within it.
        """
        accepted = sum(self.accepted_at[: max(0, longest)])
        per_step = 1 + accepted / self.steps if self.steps else 1.0
        whole = self.tokens_per_step if longest >= len(self.accepted_at) else per_step
        return whole, min(self.drafted_tokens_per_draft, longest)

    def acceptance_by_position(self) -> list[dict[str, Any]]:
        return [
            {"position": position, "share": round(self.accepted_at[position - 1] / drafts, 4)}
            for position in _SHOWN_POSITIONS
            if position <= len(self.accepted_at) and (drafts := self.drafted_steps)
        ]

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        return cls(**{**fields, "setting": LookaheadSetting.from_json(fields["setting"])})

    def to_json(self) -> dict[str, Any]:
        return {
            "setting": self.setting.to_json(),
            "tokens": self.tokens,
            "steps": self.steps,
            "drafted_steps": self.drafted_steps,
            "drafted_tokens": self.drafted_tokens,
            "accepted_at": list(self.accepted_at),
        }


def added_up(each: Sequence[Counted]) -> Counted:
    """Return what was counted of one setting over several sources, of which there is one."""
    longest = max(len(one.accepted_at) for one in each)
    return Counted(
        setting=each[0].setting,
        tokens=sum(one.tokens for one in each),
        steps=sum(one.steps for one in each),
        drafted_steps=sum(one.drafted_steps for one in each),
        drafted_tokens=sum(one.drafted_tokens for one in each),
        accepted_at=[
            sum(one.accepted_at[place] for one in each if place < len(one.accepted_at))
            for place in range(longest)
        ],
    )
