"""What a step of the native engine takes to verify drafts on a CPU, beside a step without any."""

from controlplane.domain.facts.gpus import CPU
from controlplane.domain.lookahead_tuning.step_times import MeasuredSteps

STEPS = (
    MeasuredSteps(
        device_kind=CPU,
        layers=None,
        bytes_per_weight=None,
        plain_seconds=1.0,
        drafted_seconds=((0, 1.0), (4, 1.60), (8, 1.96), (16, 2.11), (32, 2.25)),
        where="two cores of an x86-64 CPU with SmolLM2-135M in float32",
        is_absolute=False,
    ),
)
"""CPU time of one row; a test holds it to `benchmarks/results/lookahead_cpu-…`.

That of 64 tokens is left out: it was less than that of 32, by what a shared machine differs by.
"""
