"""What in a plan no recorded run was held against, in words."""

from collections.abc import Iterator

from controlplane.domain.counted import counted
from controlplane.domain.facts.architectures import RECURRENT_MODEL_TYPES
from controlplane.domain.facts.class_counts import COUNTED_WITHIN
from controlplane.domain.facts.layers import Mixer
from controlplane.domain.facts.parameter_count import ParameterCounts
from controlplane.domain.memory.memory_plan import PlanInputs
from controlplane.domain.memory.number_width import is_widened
from controlplane.domain.memory.speculation import Drafting

MEASURED_KINDS = frozenset({"H100", "GB300"})
MEASURED_RANKS = frozenset({1, 2, 4})


def estimates_of(
    inputs: PlanInputs, drafting: Drafting, *, adapters: int, element_bytes: float
) -> tuple[str, ...]:
    return tuple(_estimated(inputs, drafting, adapters=adapters, element_bytes=element_bytes))


def _estimated(
    inputs: PlanInputs, drafting: Drafting, *, adapters: int, element_bytes: float
) -> Iterator[str]:
    spec, checkpoint = inputs.spec, inputs.checkpoint
    if checkpoint.weight_bytes is None:
        yield f"weights, counted from the shape{_range(checkpoint.counts)}"
    if checkpoint.assumed:
        yield f"sizes that the file leaves out: {', '.join(checkpoint.assumed)}"
    if not inputs.runtime.measured:
        yield f"the overhead of {inputs.runtime.name}, set on one H200"
    if inputs.device.kind not in MEASURED_KINDS:
        yield f"activations and overhead on {inputs.device.kind}"
    ranks = inputs.tensor_parallel or spec.tensor_parallel
    if ranks not in MEASURED_RANKS or spec.pipeline_parallel > 1:
        yield "communication at this parallelism"
    mixers = {group.mixer for group in checkpoint.groups}
    words = {
        Mixer.LATENT: "the latent KV cache",
        Mixer.SLIDING: "sliding windows",
    }
    yield from (word for mixer, word in words.items() if mixer in mixers)
    if unknown := checkpoint.unknown_kv_layers:
        layers = counted(unknown, "layer")
        yield f"the KV cache: {layers} of a kind not known here, taken for plain attention"
    if checkpoint.keeps_state:
        yield "the states of layers without a KV cache"
    elif checkpoint.model_type in RECURRENT_MODEL_TYPES:
        yield "the KV cache: the file gives no pattern, so every layer counts as attention"
    if checkpoint.experts:
        yield "activations of experts"
    if is_widened(inputs):
        yield f"float32 in place of 16 bits, as {inputs.device.kind} has no bfloat16"
    if element_bytes < 2:
        yield "a KV cache below 16 bits"
    if drafting.tokens:
        yield "drafts"
    if adapters:
        yield "adapters"


def _range(counts: ParameterCounts | None) -> str:
    """Return between which numbers of parameters a count of layers lies; empty for an exact one."""
    if counts is None or counts.within <= COUNTED_WITHIN:
        return ""
    least, most = (counts.total * (1 + sign * counts.within) for sign in (-1, 1))
    return f": at least {least / 1e9:,.3g} and at most {most / 1e9:,.3g} billion parameters"
