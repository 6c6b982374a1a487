"""How requests are marked that are no traffic of users: with a header, by keys that must set it."""

MARK_HEADER = "x-enginehouse-traffic"
BENCHMARK = "benchmark"
"""Requests of a benchmark: counted in usage by themselves, and in nothing else."""
ASYNC = "async"
"""Requests that the queue of asynchronous requests sends on behalf of who asked: they count as
theirs."""
ANSWERS = "answers"
"""Requests of an answer guard to both deployments: counted in usage as those of a benchmark are."""
