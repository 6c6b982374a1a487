"""Which runtime serves a config on other GPUs than it asks for, as the checks will choose it."""

from collections.abc import Callable, Collection
from functools import cache

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.fit import MemoryOf
from controlplane.domain.memory.runtime_memory import RuntimeMemory
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.choice import choose_runtime, left_open, version_of
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import QuantizationType
from controlplane.domain.spec.resources import Accelerator

Started = Callable[[str], Collection[str]]
Ran = Callable[[str], Collection[tuple[str, str]]]


def _nothing(_: str) -> tuple[()]:
    return ()


def memory_by_choice(
    spec: Spec,
    checkpoint: CheckpointFacts,
    *,
    started: Started = _nothing,
    ran: Ran = _nothing,
) -> MemoryOf:
    """Return what says of a kind, a type and a number of GPUs which runtime would serve there.

    `started` and `ran` say what hosts with a kind start and last ran; empty where there are none.
    """

    @cache
    def memory_of(kind: str, quantization: str, devices: int) -> RuntimeMemory:
        choice = _on(
            left_open(spec), Accelerator(kind=kind, count=devices), QuantizationType(quantization)
        )
        chosen = choose_runtime(choice, started(kind) or None, checkpoint)
        runtime = RUNTIMES[chosen.runtime if chosen else choice.runtime_name]
        return runtime.memory_in(version_of(runtime, ran(kind)))

    return memory_of


def _on(spec: Spec, accelerator: Accelerator, quantization: QuantizationType) -> Spec:
    """Return the spec on other GPUs and in another precision; a kind need not be in its schema."""
    engine = spec.trt_llm
    build = engine.build.model_copy(update={"quantization_type": quantization})
    return spec.model_copy(
        update={
            "resources": spec.resources.model_copy(update={"accelerator": accelerator}),
            "trt_llm": engine.model_copy(update={"build": build}),
        }
    )
