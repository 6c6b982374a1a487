"""`KIND:N` as a person writes it, for a plan on GPUs that need not be there."""

from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts.gpus import ACCELERATOR_KINDS, CPU, GIB, PLANNABLE_GPUS
from controlplane.domain.memory.changes import patched
from controlplane.domain.spec import Spec

_CPU_MEMORY_BYTES = 64 * GIB
"""Of a host that is only thought of."""


class UnknownKindError(ValueError):
    """The text does not name GPUs that can be planned for; it says which can."""


@dataclass(frozen=True, kw_only=True)
class RequestedDevices:
    kind: str
    count: int
    memory_bytes: int
    by_config: bool = False
    """The config itself asks for them, so its own parallelism stands."""

    def applied_to(self, spec: Spec) -> Spec:
        """Return the config as if it asked for these GPUs, where its schema has their kind."""
        if self.by_config or self.kind not in ACCELERATOR_KINDS:
            return spec
        patch: dict[str, Any] = {"resources.accelerator": f"{self.kind}:{self.count}"}
        patch[spec.tensor_parallel_path] = self.ranks(spec)
        return patched(spec, patch)

    def ranks(self, spec: Spec) -> int:
        """Return the tensor parallel ranks: the config's own, or all GPUs of each stage."""
        if self.by_config or self.kind == CPU:
            return spec.tensor_parallel
        return max(1, self.count // spec.pipeline_parallel)


def read_requested_devices(text: str, *, by_config: bool = False) -> RequestedDevices:
    """Return the GPUs that `KIND` or `KIND:N` names. Raises `UnknownKindError`."""
    name, _, number = text.partition(":")
    kind = name.strip().upper().replace("-", "_").replace(" ", "_")
    if number and not (number.isascii() and number.isdigit() and 0 < int(number) <= 1024):
        raise UnknownKindError(f"`{text}`: write KIND or KIND:N with N from 1, such as H100:2.")
    if kind == CPU:
        return RequestedDevices(
            kind=CPU, count=1, memory_bytes=_CPU_MEMORY_BYTES, by_config=by_config
        )
    gpu = PLANNABLE_GPUS.get(kind)
    if gpu is None or gpu.memory_bytes is None:
        kinds = ", ".join(PLANNABLE_GPUS)
        raise UnknownKindError(f"`{name}` is no kind of GPU that a plan knows: {kinds}, CPU.")
    return RequestedDevices(
        kind=kind, count=int(number or 1), memory_bytes=gpu.memory_bytes, by_config=by_config
    )
