"""Which runtime `enginehouse.runtime: auto` means for a config, and why."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.runtimes import RUNTIMES, Runtime
from controlplane.domain.runtimes.capability import Feature, weights_feature
from controlplane.domain.runtimes.open_routes import nearest_version
from controlplane.domain.runtimes.runtime import Task
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import RUNTIME_ON_CPU, RUNTIME_ON_GPU, RuntimeChoice


@dataclass(frozen=True, kw_only=True)
class Chosen:
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
        return Chosen(runtime=RUNTIME_ON_CPU, reason="No accelerator is asked for.")
    able = list(able_runtimes(spec, checkpoint))
    here = [runtime for runtime in able if runtime in (started or ())]
    runtime = next(iter([*here, *able]), RUNTIME_ON_GPU)
    return Chosen(runtime=runtime, reason=_reason(spec, runtime, here, started))


def with_runtime(spec: Spec, runtime: str) -> Spec:
    """Return the spec with the runtime named, where it said `auto` on a GPU."""
    if spec.settings.runtime is not RuntimeChoice.AUTO or spec.accelerator is None:
        return spec
    return _named(spec, RuntimeChoice(runtime))


def left_open(spec: Spec) -> Spec:
    """Return the spec with `auto` for a runtime that needs no GPU, as going to GPUs leaves it."""
    return spec if RUNTIMES[spec.runtime_name].needs_gpu else _named(spec, RuntimeChoice.AUTO)


def _named(spec: Spec, runtime: RuntimeChoice) -> Spec:
    named = spec.settings.model_copy(update={"runtime": runtime})
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
    for runtime in _order(spec, checkpoint):
        if _takes(runtime, spec, checkpoint):
            yield runtime


def was_run(runtime: str) -> bool:
    return RUNTIMES[runtime].was_run_on_gpus


def version_of(
    runtime: Runtime, ran: Collection[tuple[str, str]] = (), *, default: str | None = None
) -> str:
    """Return the oldest of its versions that hosts ran, as its table names it, else the default.

    `ran` are runtimes with the version of what ran last; the default is the one that we ran.
    """
    table = runtime.capabilities
    named = [nearest_version(table.VERSIONS, version) for name, version in ran
             if name == runtime.name]  # fmt: skip
    return min(filter(None, named), key=table.VERSIONS.index, default=default or table.SEEN_VERSION)


def runtime_on(kind: str, spec: Spec) -> Runtime:
    """Return the runtime that a plan on this kind is made for, whatever the config asks for.

    On a CPU that of configs without an accelerator, else `on_gpus`.
    """
    return RUNTIMES[RUNTIME_ON_CPU] if kind == CPU else on_gpus(spec)


def on_gpus(spec: Spec) -> Runtime:
    """Return the config's runtime for GPUs, the usual one where it names one of a CPU."""
    own = RUNTIMES[spec.runtime_name]
    return own if own.needs_gpu else RUNTIMES[RUNTIME_ON_GPU]


def _order(spec: Spec, checkpoint: CheckpointFacts | None) -> list[str]:
    task = _task(spec, checkpoint)
    ranked = ((runtime.ranks[task], name) for name, runtime in RUNTIMES.items()
              if task in runtime.ranks)  # fmt: skip
    return [name for _, name in sorted(ranked)]


def _task(spec: Spec, checkpoint: CheckpointFacts | None) -> Task:
    if not spec.base_model.is_encoder:
        return Task.TEXT
    stored = checkpoint is not None and checkpoint.existing_quantization is not None
    is_quantized = stored or not spec.quantization_type.is_none
    return Task.QUANTIZED_VECTORS if is_quantized else Task.VECTORS


def _takes(name: str, spec: Spec, checkpoint: CheckpointFacts | None) -> bool:
    runtime = RUNTIMES[name]
    on_gpu = runtime.capabilities.capability(Feature.ACCELERATOR, kind_of(spec))
    if on_gpu.is_refused or _refuses_weights(runtime, spec):
        return False
    return runtime.takes(spec, checkpoint)


def _refuses_weights(runtime: Runtime, spec: Spec) -> bool:
    """Return whether it does not load the form that builds write the config's type in."""
    weights = spec.quantization_type.precision.weights
    feature = weights_feature(weights) if weights.is_rewritten else None
    return bool(feature and runtime.capabilities.capability(feature, kind_of(spec)).is_refused)


def _reason(spec: Spec, runtime: str, here: list[str], started: Collection[str] | None) -> str:
    kind, name = kind_of(spec), RUNTIMES[runtime].title
    if started is None:
        first = f"No host with `{kind}` was asked; {name} comes first for this."
    elif here:
        first = f"Of what the hosts with `{kind}` start, {name} comes first for this."
    else:
        first = f"No host here starts what takes this on `{spec.accelerator}`; {name} would."
    return first if was_run(runtime) else f"{first} We have not yet run it for this."
