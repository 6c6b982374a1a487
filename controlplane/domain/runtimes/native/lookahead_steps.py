"""What a step of the native engine takes to verify drafts on a CPU, beside a step without any."""

from controlplane.domain.facts.gpus import CPU
from controlplane.domain.lookahead_tuning.step_times import MeasuredSteps

STEPS = (
    MeasuredSteps(
        device_kind=CPU,
        layers=None,
        bytes_per_weight=None,
        plain_seconds=1.0,
        drafted_seconds=((0, 1.0), (4, 1.0), (8, 2.6), (16, 2.8), (32, 3.1), (64, 3.7)),
        where="two cores of an x86-64 CPU with SmolLM2-135M in float32",
        is_absolute=False,
    ),
)
"""One row's times; a test holds them to `benchmarks/results/lookahead_cpu-…`."""
