"""The state of a request that holds a row: its tokens so far and the text they make."""

from collections import abc
from collections.abc import Callable, Collection
from dataclasses import replace

from torch import Tensor

from controlplane.clock import SYSTEM, Clock
from workers.engine.detokenizer import Detokenizer
from workers.engine.drafts import Drafter
from workers.engine.generation import FinishReason, Generation, Progress, TokenScore
from workers.engine.kept_rows import Content
from workers.engine.prompt_scores import PromptScores
from workers.engine.runner import Segment
from workers.engine.sampler import Sampler
from workers.engine.slots import Row
from workers.engine.stop_strings import StopStrings
from workers.engine.token_scores import forbid, score_tokens, shape_scores

MOST_SCORED = 128
"""Tokens of a step whose scores are all kept: each takes four bytes a word of the vocabulary."""


class Sequence:
    """Grows by one token a step until it ends itself."""

    def __init__(
        self,
        generation: Generation,
        *,
        end_tokens: Collection[int],
        decode: Callable[[abc.Sequence[int]], str],
        drafter: Drafter | None = None,
        rope_border: int | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self.generation = generation
        self.row = Row(first_slot=0, capacity=0)  # none until the scheduler admits it
        self.tokens = list(generation.prompt)
        self.arrived_at = self.last_token_at = clock.monotonic()
        self.admitted_at: float | None = None
        self.turn = 0.0
        """Where the scheduler puts it among those who wait."""
        self.passed = 0
        """How many that came later were given a row before it."""
        self.is_cancelled = False
        self.cached_tokens = 0
        self._clock, self._drafter = clock, drafter
        self.is_drafted = drafter is not None
        self._rope_border = rope_border
        ends = () if generation.sampling.ignore_eos else end_tokens
        self._end_tokens = frozenset(ends) | generation.sampling.stop_tokens
        self._unsent_scores: list[TokenScore] = []
        self._prompt_scores = PromptScores(generation)
        self._has_sent_prompt = False
        self._sampler = Sampler(generation.sampling)
        self._detokenizer = Detokenizer(decode)
        self._stops = StopStrings(generation.sampling.stop)

    @property
    def reserved_tokens(self) -> int:
        """Cache slots that prompt and answer need together; the last token is never fed."""
        return len(self.generation.prompt) + max(1, self.generation.sampling.max_tokens) - 1

    @property
    def is_long(self) -> bool:
        """Whether there are more tokens than the model's first set of rotary frequencies is for."""
        return self._rope_border is not None and len(self.tokens) > self._rope_border

    @property
    def content(self) -> Content:
        """The row and what it holds, for answers that begin alike."""
        key = self.generation.adapter, self.generation.cache_salt, self.is_long
        # What is kept of another prompt has no scores.
        own = None if self._prompt_scores.are_complete else id(self)
        return Content(self.row, self.tokens, (*key, own))

    @property
    def pending_tokens(self) -> int:
        """Tokens that the cache does not hold yet: a prompt's rest, or the newest token."""
        return len(self.tokens) - self.row.length

    @property
    def completion_tokens(self) -> int:
        """Tokens generated so far, the end token included."""
        return len(self.tokens) - len(self.generation.prompt)

    def take_row(self, row: Row) -> None:
        """Begin in this row, or begin anew after it gave way."""
        self.row = row
        if not self.completion_tokens:
            self.cached_tokens, self.admitted_at = row.length, self._clock.monotonic()

    def cancel(self) -> None:
        """Give the row back at the next step; nothing more is reported. Any thread may ask."""
        self.is_cancelled = True

    def next_segment(self, most_tokens: int) -> Segment:
        """Give back the next tokens to feed, at most so many."""
        first, scores_all = self.row.length, not self._prompt_scores.are_complete
        most_tokens = min(most_tokens, MOST_SCORED) if scores_all else most_tokens
        tokens = self.tokens[first : first + most_tokens]
        return Segment(
            self.row, tokens, scores_all=scores_all, adapter=self.generation.adapter,
            is_long=self.is_long,
        )  # fmt: skip

    def score_prompt(self, segment: Segment, logits: Tensor) -> Tensor:
        """Take the scores of a piece of the prompt; give back those after its last token."""
        if segment.scores_all:
            self._prompt_scores.take(self.row.length - len(segment.tokens), logits)
        return logits[-1:] if segment.scores_all else logits

    def with_drafts(self, segment: Segment, most: int) -> Segment:
        """Give back the segment of the newest token with guesses behind it, if there are any.

        The answer's last token is never guessed: nothing is left to be verified behind it.
        """
        room = min(
            most, self.row.capacity - len(self.tokens),
            self.generation.sampling.max_tokens - self.completion_tokens - 1,
        )  # fmt: skip
        if self._rope_border is not None and not self.is_long:
            room = min(room, self._rope_border - len(self.tokens))
        grammar = self.generation.grammar
        forced = grammar.forced()[: max(0, room)] if grammar else ()
        drafts = forced or self._guesses(room)
        tokens = [*segment.tokens, *drafts]
        return replace(segment, tokens=tokens, drafts=len(drafts), is_forced=bool(forced))

    def _guesses(self, room: int) -> abc.Sequence[int]:
        if self._drafter is None or room <= 0:
            return ()
        guesses, grammar = self._drafter.propose(self.tokens, room), self.generation.grammar
        if grammar is None:
            return guesses
        allowed = grammar.allowed(guesses)
        self._drafter.shorten(len(allowed))
        return allowed

    def accept(self, logits: Tensor) -> Progress | None:
        """Choose the next token; give back what it adds for the reader, if anything."""
        if self.generation.sampling.max_tokens == 0:
            self.last_token_at = self._clock.monotonic()
            return self._progress("", FinishReason.LENGTH)
        token = self._choose(logits)
        self.tokens.append(token)
        self.last_token_at = self._clock.monotonic()
        if token in self._end_tokens:
            return self._finish(FinishReason.STOP, "")
        if (how_many := self.generation.sampling.top_logprobs) is not None:
            self._unsent_scores += score_tokens(logits[None], [token], how_many)
        text = self._stops.push(self._detokenizer.push(token))
        reason = self._reason_to_end()
        if reason is not None:
            return self._finish(reason, text)
        return self._progress(text, None) if text else None

    def _choose(self, logits: Tensor) -> int:
        generation = self.generation
        answer = self.tokens[len(generation.prompt) :]
        scores = shape_scores(logits, generation.sampling, prompt=generation.prompt, answer=answer)
        if len(answer) < generation.sampling.min_tokens:
            scores = forbid(scores, self._end_tokens)
        if generation.grammar is None:
            return self._sampler.choose(scores)
        token = self._sampler.choose(generation.grammar.mask(scores))
        generation.grammar.advance(token)
        return token

    def _reason_to_end(self) -> FinishReason | None:
        grammar = self.generation.grammar
        if self._stops.matched is not None or (grammar is not None and grammar.is_complete):
            return FinishReason.STOP
        if self.completion_tokens >= self.generation.sampling.max_tokens:
            return FinishReason.LENGTH
        return None

    def _finish(self, reason: FinishReason, text: str) -> Progress:
        if self._stops.matched is None:
            text += self._stops.push(self._detokenizer.flush())
        if self._stops.matched is not None:
            return self._progress(text, FinishReason.STOP)
        return self._progress(text + self._stops.flush(), reason)

    def _progress(self, text: str, reason: FinishReason | None) -> Progress:
        scores, self._unsent_scores = tuple(self._unsent_scores), []
        is_first, self._has_sent_prompt = not self._has_sent_prompt, True
        if is_first and self.generation.echo is not None:
            text = self.generation.echo + text
            scores = self._prompt_scores.echoed + scores
        return Progress(
            text=text,
            prompt_scores=self._prompt_scores.asked if is_first else (),
            completion_tokens=self.completion_tokens,
            cached_tokens=self.cached_tokens,
            scores=scores,
            finish_reason=reason,
        )
