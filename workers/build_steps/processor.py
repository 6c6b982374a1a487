"""What the processor computes natively, told without torch."""

from pathlib import Path

from controlplane.domain.facts.processors import multiplies_bfloat16

_CPUINFO = Path("/proc/cpuinfo")


def has_native_bfloat16() -> bool:
    """Return whether a CPU model in bfloat16 runs as fast as one in float32, or faster."""
    try:
        return multiplies_bfloat16(_CPUINFO.read_text())
    except OSError:
        return False
