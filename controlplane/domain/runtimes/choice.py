"""Which runtime `enginehouse.runtime: auto` means for a config, and why."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.runtimes.capability import Feature
from controlplane.domain.runtimes.native import capabilities as native
from controlplane.domain.runtimes.trtllm import capabilities as trtllm
from controlplane.domain.runtimes.vllm import capabilities as vllm
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import RuntimeChoice

NAMES: Mapping[str, str] = MappingProxyType(
    {"native": "the native engine", "vllm": "vLLM", "trtllm": "TensorRT-LLM"}
)
_TABLES = {"native": native, "vllm": vllm, "trtllm": trtllm}
FOR_TEXT = ("vllm", "native", "trtllm")
"""Where text is written on GPUs: those run by us first, the faster first of them."""
FOR_VECTORS = ("native", "vllm")
"""Vectors and scores in 16 bits; TensorRT-LLM gives none."""
FOR_QUANTIZED_VECTORS = ("vllm", "native")
"""The native engine expands quantized weights, so that a GPU may not hold them."""
_NOT_RUN = frozenset({("trtllm", False), ("trtllm", True)})
"""Runtime, and whether for vectors: what `benchmarks/results` has no run of."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A runtime and why it was chosen."""

    runtime: str
    reason: str


def choose_runtime(
    spec: Spec, started: Collection[str] | None, checkpoint: CheckpointFacts | None = None
) -> Chosen | None:
    """Return what `auto` means; None where the config names a runtime.

    `started` are the runtimes that hosts with the GPU asked for start, None where nobody asked.
    """
    if spec.settings.runtime is not RuntimeChoice.AUTO:
        return None
    if spec.accelerator is None:
        return Chosen(runtime="native", reason="No accelerator is asked for.")
    able = list(able_runtimes(spec, checkpoint))
    here = [runtime for runtime in able if runtime in (started or ())]
    runtime = next(iter([*here, *able]), FOR_TEXT[0])
    return Chosen(runtime=runtime, reason=_reason(spec, runtime, here, started))


def with_runtime(spec: Spec, runtime: str) -> Spec:
    """Return the spec with the runtime named, where it said `auto` on a GPU."""
    if spec.settings.runtime is not RuntimeChoice.AUTO or spec.accelerator is None:
        return spec
    named = spec.settings.model_copy(update={"runtime": RuntimeChoice(runtime)})
    if spec.settings_path == "enginehouse":
        return spec.model_copy(update={"enginehouse": named})
    metadata = spec.model_metadata.model_copy(update={"enginehouse": named})
    return spec.model_copy(update={"model_metadata": metadata})


def dump_with_runtime(dump: Mapping[str, Any], runtime: str) -> Mapping[str, Any]:
    """Return a spec's dump with the runtime named, where it said `auto` on a GPU."""
    if not runtime:
        return dump
    return with_runtime(Spec.model_validate(dump), runtime).model_dump(mode="json")


def kind_of(spec: Spec) -> str:
    """Return the kind of GPU that the config asks for; the CPU where it asks for none."""
    return spec.accelerator.kind if spec.accelerator else CPU


def able_runtimes(spec: Spec, checkpoint: CheckpointFacts | None = None) -> Iterator[str]:
    """Yield the runtimes that take this config's GPUs and task, the first to choose first."""
    for runtime in _order(spec, checkpoint):
        if _takes(runtime, spec, checkpoint):
            yield runtime


def was_run(runtime: str, spec: Spec) -> bool:
    """Return whether we have run this runtime on a GPU for what the config asks."""
    return (runtime, spec.base_model.is_encoder) not in _NOT_RUN


def _order(spec: Spec, checkpoint: CheckpointFacts | None) -> tuple[str, ...]:
    if not spec.base_model.is_encoder:
        return FOR_TEXT
    stored = checkpoint is not None and checkpoint.existing_quantization is not None
    is_quantized = stored or not spec.quantization_type.is_none
    return FOR_QUANTIZED_VECTORS if is_quantized else FOR_VECTORS


def _takes(runtime: str, spec: Spec, checkpoint: CheckpointFacts | None) -> bool:
    if _TABLES[runtime].capability(Feature.ACCELERATOR, kind_of(spec)).is_refused:
        return False
    if runtime != "native":
        return True
    is_of_one_device = spec.accelerator_count == 1
    return is_of_one_device and (not spec.base_model.is_encoder or _pools(checkpoint))


def _pools(checkpoint: CheckpointFacts | None) -> bool:
    return checkpoint is None or native.pools(checkpoint.architecture or "")


def _reason(spec: Spec, runtime: str, here: list[str], started: Collection[str] | None) -> str:
    kind, name = kind_of(spec), NAMES[runtime]
    if started is None:
        first = f"No host with `{kind}` was asked; {name} comes first for this."
    elif here:
        first = f"Of what the hosts with `{kind}` start, {name} comes first for this."
    else:
        first = f"No host here starts what takes this on `{spec.accelerator}`; {name} would."
    return first if was_run(runtime, spec) else f"{first} We have not yet run it for this."
