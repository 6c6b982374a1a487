from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DeviceOffer:
    kind: str
    count: int
    memory_bytes: int
    computes_bfloat16: bool = False
    """Of a CPU: whether its processor does so by itself."""
