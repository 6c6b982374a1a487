"""What lookahead brought a deployment that serves, by its engine's own counters."""

from dataclasses import dataclass

from controlplane.domain.lookahead_tuning.step_times import StepTimes


@dataclass(frozen=True, kw_only=True)
class Served:
    """Counts over some time, and how many requests ran at once in it."""

    completion_tokens: float
    drafted_tokens: float
    accepted_tokens: float
    requests: float

    @property
    def steps(self) -> float:
        """Steps of single requests: each brings one token more than was accepted."""
        return max(1.0, self.completion_tokens - self.accepted_tokens)

    @property
    def tokens_per_step(self) -> float:
        return self.completion_tokens / self.steps

    def cost_of_step(self, times: StepTimes) -> float:
        """Return how many times longer a step took than it would without lookahead."""
        batch = max(1, round(self.requests))
        return times.seconds(batch, self.drafted_tokens / self.steps) / times.seconds(batch, None)


def verdict(served: Served, times: StepTimes | None) -> tuple[bool, str]:
    """Return whether lookahead hurts, and the sentence why; False where no time is known."""
    brought = f"A step of a request brought {served.tokens_per_step:.2f} tokens"
    if times is None:
        return False, f"{brought}. How long a step takes here is not known."
    cost = served.cost_of_step(times)
    speed = served.tokens_per_step / cost
    if speed < 1:
        return True, (
            f"Lookahead hurts: {brought.lower()} and took {cost:.2f} times as long as one without, "
            f"so answers come at {speed:.2f} times the speed. Serve without a speculator, or tune "
            "it on your own answers."
        )
    return False, (
        f"{brought} and took {cost:.2f} times as long as one without lookahead: {speed:.2f} times "
        "the speed."
    )
