"""What the processor computes natively, told without torch."""

from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})


def has_native_bfloat16() -> bool:
    """Return whether a CPU model in bfloat16 runs as fast as one in float32, or faster."""
    try:
        lines = _CPUINFO.read_text().splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.startswith("flags")), "")
    return not _BFLOAT16_FLAGS.isdisjoint(flags.split())
