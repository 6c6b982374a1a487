"""What a model gives the tokens of a prompt, piece by piece as they are fed."""

from dataclasses import replace

from torch import Tensor

from workers.engine.generation import Generation, TokenScore
from workers.engine.token_scores import score_tokens


class PromptScores:
    """Complete at once where the request asks for none."""

    def __init__(self, generation: Generation) -> None:
        sampling = generation.sampling
        self._prompt = generation.prompt
        self._likeliest = sampling.prompt_logprobs
        self._echoed_likeliest = None if generation.echo is None else sampling.top_logprobs
        self._scores = [TokenScore(token=self._prompt[0], logprob=None)]

    @property
    def are_complete(self) -> bool:
        return self._most is None or len(self._scores) == len(self._prompt)

    @property
    def asked(self) -> tuple[TokenScore, ...]:
        return self._cut(self._likeliest)

    @property
    def echoed(self) -> tuple[TokenScore, ...]:
        return self._cut(self._echoed_likeliest)

    def take(self, first: int, logits: Tensor) -> None:
        """Take the scores after the tokens from `first` on; those that are known stay.

        Shape: `[tokens, vocabulary]`. A row that gave way is fed again from its beginning.
        """
        known = len(self._scores)
        tokens = self._prompt[known : first + 1 + len(logits)]
        if tokens:
            rows = logits[known - first - 1 :][: len(tokens)]
            self._scores += score_tokens(rows, tokens, self._most or 0)

    @property
    def _most(self) -> int | None:
        counts = [each for each in (self._likeliest, self._echoed_likeliest) if each is not None]
        return max(counts, default=None)

    def _cut(self, likeliest: int | None) -> tuple[TokenScore, ...]:
        if likeliest is None:
            return ()
        return tuple(replace(each, likeliest=each.likeliest[:likeliest]) for each in self._scores)
