"""Accelerators: memory and compute capability, with source and date."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controlplane.domain.facts.sources import Source

GIB = 1024**3
MIB = 1024**2
CPU = "CPU"


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One kind of card. A CPU is a kind too: its memory is the host's and varies."""

    kind: str
    memory_bytes: int | None
    compute_capability: tuple[int, int] | None
    source: Source
    assumed: tuple[str, ...] = ()
    """Which of the numbers are inferred and not from a page that states them."""

    @property
    def is_cpu(self) -> bool:
        return self.kind == CPU

    @property
    def capability_text(self) -> str:
        """The compute capability as it is written, such as `8.9`."""
        return ".".join(map(str, self.compute_capability)) if self.compute_capability else "none"

    def has_capability(self, major: int, minor: int) -> bool:
        """Return whether this is a GPU of at least that compute capability."""
        return self.compute_capability is not None and self.compute_capability >= (major, minor)


_RESOURCES_PAGE = Source(
    document="docs.baseten.co/deployment/resources", section="Instance types", checked="2026-11-27"
)
_CONFIGURATOR = Source(
    document="ai-dynamo/aiconfigurator", section="system data", checked="2026-11-27"
)
_VENDOR = Source(document="NVIDIA data sheets", section="memory size", checked="2026-11-27")
_OURS = Source(document="Enginehouse", section="CPU as a card kind", checked="2026-11-27")

_ALL = (
    Gpu(kind="T4", memory_bytes=16 * GIB, compute_capability=(7, 5), source=_RESOURCES_PAGE),
    Gpu(kind="L4", memory_bytes=24 * GIB, compute_capability=(8, 9), source=_RESOURCES_PAGE),
    Gpu(kind="A10G", memory_bytes=24 * GIB, compute_capability=(8, 6), source=_RESOURCES_PAGE),
    Gpu(
        kind="V100", memory_bytes=16 * GIB, compute_capability=(7, 0), source=_VENDOR,
        assumed=("memory_bytes",),
    ),
    Gpu(kind="A100", memory_bytes=80 * GIB, compute_capability=(8, 0), source=_RESOURCES_PAGE),
    Gpu(
        kind="A100_40GB", memory_bytes=40 * GIB, compute_capability=(8, 0), source=_VENDOR,
        assumed=("memory_bytes",),
    ),
    Gpu(kind="H100", memory_bytes=80 * GIB, compute_capability=(9, 0), source=_RESOURCES_PAGE),
    Gpu(kind="H100_40GB", memory_bytes=40 * GIB, compute_capability=(9, 0), source=_RESOURCES_PAGE),
    Gpu(kind="H200", memory_bytes=141 * GIB, compute_capability=(9, 0), source=_RESOURCES_PAGE),
    Gpu(kind="B200", memory_bytes=180 * GIB, compute_capability=(10, 0), source=_RESOURCES_PAGE),
    Gpu(kind="L40S", memory_bytes=46_068 * MIB, compute_capability=(8, 9), source=_CONFIGURATOR),
    Gpu(
        kind="RTX_PRO_6000", memory_bytes=96 * GIB, compute_capability=(12, 0),
        source=_RESOURCES_PAGE, assumed=("compute_capability",),
    ),
    Gpu(
        kind="B300", memory_bytes=288 * GIB, compute_capability=(10, 3), source=_VENDOR,
        assumed=("memory_bytes", "compute_capability"),
    ),
    Gpu(kind="GB300", memory_bytes=277 * GIB, compute_capability=(10, 3), source=_CONFIGURATOR),
    Gpu(
        kind="B10", memory_bytes=None, compute_capability=None,
        source=Source(document="truss 0.18.36", section="Accelerator enum", checked="2026-11-27"),
    ),
    Gpu(kind=CPU, memory_bytes=None, compute_capability=None, source=_OURS),
)  # fmt: skip

GPUS: Mapping[str, Gpu] = MappingProxyType({gpu.kind: gpu for gpu in _ALL})
ACCELERATOR_KINDS: tuple[str, ...] = tuple(gpu.kind for gpu in _ALL if not gpu.is_cpu)
"""What `resources.accelerator` may name."""
