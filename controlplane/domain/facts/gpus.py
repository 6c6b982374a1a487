"""Accelerators: memory, bandwidth, arithmetic and price, with source and date.

Memory is what the driver reports, which a node measures for itself; of kinds that nobody has seen
reported it is what a data sheet says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controlplane.domain.facts.sources import Source

GIB = 1024**3
MIB = 1024**2
CPU = "CPU"
IDLE_BYTES = 2 * GIB
"""What a driver may hold of a GPU that nobody uses: 0.6 GiB on an H100, more at times."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One kind of GPU. A CPU is a kind too: its memory is the host's and varies."""

    kind: str
    memory_bytes: int | None
    compute_capability: tuple[int, int] | None
    source: Source
    bytes_per_second: float | None = None
    """Of memory bandwidth, by the data sheet."""
    flops: float | None = None
    """Dense 16-bit operations per second of the tensor cores, by the data sheet."""
    fp8_flops: float | None = None
    fp4_flops: float | None = None
    usd_per_minute: float | None = None
    """What the hosted product charges; only to order kinds by cost."""
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

    def flops_at(self, weight_bytes: float) -> float | None:
        if weight_bytes < 1 and self.fp4_flops:
            return self.fp4_flops
        return self.fp8_flops if weight_bytes <= 1 and self.fp8_flops else self.flops


_RESOURCES_PAGE = Source(
    document="docs.baseten.co/deployment/resources", section="Instance types", checked="2026-11-27"
)
_CONFIGURATOR = Source(
    document="ai-dynamo/aiconfigurator", section="system data", checked="2026-11-27"
)
_REPORTED = Source(
    document="modal-labs/modal-client", section="#2797, totals that nvidia-smi reports",
    checked="2026-11-29",
)  # fmt: skip
_MEASURED = Source(
    document="Enginehouse", section="evidence, an H200 by NVML", checked="2026-11-29"
)
_VENDOR = Source(document="NVIDIA data sheets", section="memory size", checked="2026-11-27")
_OURS = Source(document="Enginehouse", section="CPU as a GPU kind", checked="2026-11-27")
_TB = 1e12
_TERA = 1e12


def _gpu(
    kind: str,
    memory: int,
    capability: tuple[int, int],
    source: Source,
    speed: tuple[float, float, float, float],
    *,
    price: float | None = None,
    assumed: tuple[str, ...] = (),
) -> Gpu:
    """Return a row; `speed` is TB/s, then TFLOP/s in 16 bits, FP8 and FP4 (0: not in hardware)."""
    bandwidth, sixteen, eight, four = speed
    return Gpu(
        kind=kind, memory_bytes=memory, compute_capability=capability, source=source,
        bytes_per_second=bandwidth * _TB, flops=sixteen * _TERA,
        fp8_flops=eight * _TERA or None, fp4_flops=four * _TERA or None,
        usd_per_minute=price, assumed=assumed,
    )  # fmt: skip


_ALL = (
    _gpu("T4", 15_360 * MIB, (7, 5), _REPORTED, (0.32, 65, 0, 0), price=0.01052),
    _gpu("L4", 23_034 * MIB, (8, 9), _REPORTED, (0.3, 121, 242, 0), price=0.01414),
    _gpu("A10G", 23_028 * MIB, (8, 6), _REPORTED, (0.6, 70, 0, 0), price=0.02012),
    _gpu("V100", 16 * GIB, (7, 0), _VENDOR, (0.9, 125, 0, 0), assumed=("memory_bytes",)),
    _gpu("A100", 80 * GIB, (8, 0), _REPORTED, (2.039, 312, 0, 0), price=0.06667),
    _gpu("A100_40GB", 40 * GIB, (8, 0), _REPORTED, (1.555, 312, 0, 0)),
    _gpu("H100", 81_559 * MIB, (9, 0), _REPORTED, (3.35, 989, 1979, 0), price=0.10833),
    _gpu("H100_40GB", 40 * GIB, (9, 0), _RESOURCES_PAGE, (1.675, 424, 848, 0), price=0.0625),
    _gpu("H200", 143_771 * MIB, (9, 0), _MEASURED, (4.8, 989, 1979, 0), price=0.125),
    _gpu("B200", 180 * GIB, (10, 0), _RESOURCES_PAGE, (7.7, 2250, 4500, 9000), price=0.16633),
    _gpu("L40S", 46_068 * MIB, (8, 9), _CONFIGURATOR, (0.864, 362, 733, 0)),
    _gpu(
        "RTX_PRO_6000", 96 * GIB, (12, 0), _RESOURCES_PAGE, (1.792, 468, 936, 1871),
        price=0.06667, assumed=("compute_capability",),
    ),
    _gpu("B300", 275_040 * MIB, (10, 3), _CONFIGURATOR, (7.75, 2250, 4500, 14_000)),
    _gpu("GB300", 277 * GIB, (10, 3), _CONFIGURATOR, (8.0, 2500, 5000, 15_000)),
    Gpu(
        kind="B10", memory_bytes=None, compute_capability=None,
        source=Source(document="truss 0.18.36", section="Accelerator enum", checked="2026-11-27"),
    ),
    Gpu(kind=CPU, memory_bytes=None, compute_capability=None, source=_OURS),
)  # fmt: skip

_BEYOND_THE_CONFIG = (
    _gpu("A30", 24 * GIB, (8, 0), _CONFIGURATOR, (0.933, 165, 0, 0)),
    _gpu("GB200", 189_471 * MIB, (10, 0), _CONFIGURATOR, (8.0, 2500, 5000, 10_000)),
    _gpu("RTX_4090", 24 * GIB, (8, 9), _VENDOR, (1.008, 165, 330, 0), assumed=("flops",)),
)
"""Kinds that `resources.accelerator` of the hosted product does not name; one may plan for them."""

GPUS: Mapping[str, Gpu] = MappingProxyType({gpu.kind: gpu for gpu in _ALL})
PLANNABLE_GPUS: Mapping[str, Gpu] = MappingProxyType(
    {gpu.kind: gpu for gpu in (*_ALL, *_BEYOND_THE_CONFIG) if gpu.memory_bytes is not None}
)
"""Every kind whose memory is known."""
ACCELERATOR_KINDS: tuple[str, ...] = tuple(gpu.kind for gpu in _ALL if not gpu.is_cpu)
"""What `resources.accelerator` may name."""
