from collections.abc import Sequence
from dataclasses import dataclass

from apps.deployments.environments.rolling.answers.selectors import answer_check_last
from apps.deployments.models import AnswerPair, Environment
from apps.ui.formats import number
from controlplane.domain.rolling.answer_guard import Prompt, shown

SHOWN_BEFORE_CHARACTERS = 20
SHOWN_CHARACTERS = 120


@dataclass(frozen=True, kw_only=True)
class AnswersRow:
    """Both answers to one prompt, from shortly before where they first differ."""

    pair: AnswerPair
    prompt: str

    @property
    def verdict(self) -> str:
        if self.pair.candidate["failure"] or self.pair.current["failure"]:
            return "Not answered"
        at = self.pair.differs_at
        return "Equal" if at is None else f"Differs at character {number(at + 1)}"

    @property
    def candidate(self) -> str:
        return self._excerpt(self.pair.candidate)

    @property
    def current(self) -> str:
        return self._excerpt(self.pair.current)

    @property
    def schema(self) -> str:
        """Return whether each is valid, where the prompt names a schema."""
        both = (self.pair.candidate["is_valid"], self.pair.current["is_valid"])
        words = {True: "valid", False: "invalid", None: "–"}
        return "" if both == (None, None) else " / ".join(words[each] for each in both)

    def _excerpt(self, answer: dict[str, str]) -> str:
        if answer["failure"]:
            return answer["failure"]
        start = max(0, (self.pair.differs_at or 0) - SHOWN_BEFORE_CHARACTERS)
        text = answer["text"][start : start + SHOWN_CHARACTERS]
        return f"…{text}" if start else text


def answers_rows(environment: Environment) -> Sequence[AnswersRow]:
    answers = (environment.promotion or {}).get("answers") or {}
    check = answer_check_last(environment=environment) if answers else None
    if check is None or check.id != answers.get("check_id"):
        return []
    pairs = sorted(check.pairs.all(), key=lambda each: (each.is_equal, each.number))
    prompts: list[Prompt] = check.prompts
    return [AnswersRow(pair=each, prompt=shown(prompts[each.number - 1])) for each in pairs]
