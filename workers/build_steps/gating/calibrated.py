"""Whether the scales of inputs, keys and values are those that calibration asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.build_steps.gating import failures
from workers.build_steps.quantization.amax import CACHE_SCALES, read_amax, tells_amax

_E4M3_LARGEST = 448.0
_NVFP4_LARGEST = 448.0 * 6.0
_TOLERANCE = 1e-6
"""Share by which a scale may differ: it is one quotient, rounded to float32."""

Expected = Mapping[str, float | None]
"""Scale -> its value, or None where no sample told it."""


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """How many scales calibration should tell, and the names of those that it does not."""

    scales: int
    not_compared: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "scales": self.scales,
            "compared": self.scales - len(self.not_compared),
            "not_compared": list(self.not_compared),
        }


def expected_scales(calibrated: Path, declared: Mapping[str, Any]) -> Expected | None:
    """Return what the largest values ask for; None for a calibration that kept none."""
    if (seen := read_amax(calibrated)) is None:
        return None
    return {
        name: None if amax is None else amax / _largest(name, declared)
        for name, amax in seen.items()
    }


def _largest(name: str, declared: Mapping[str, Any]) -> float:
    layers = declared.get("quantized_layers") or {}
    layer = layers.get(name.rpartition(".")[0], declared)
    is_fp4 = layer.get("quant_algo") == "NVFP4" and not _is_of_cache(name)
    return _NVFP4_LARGEST if is_fp4 else _E4M3_LARGEST


def compare_with_calibration(values: Mapping[str, float], expected: Expected | None) -> Calibrated:
    """Return what was compared; raises StepFailure that names the first scale that differs."""
    stored = {name: value for name, value in values.items() if tells_amax(name)}
    if expected is None:
        return Calibrated(scales=len(stored), not_compared=tuple(sorted(stored)))
    for name, amax in expected.items():
        if name not in stored:
            raise failures.missing_scale(name, amax)
    for name, value in stored.items():
        if name not in expected:
            raise failures.unmeasured_scale(name, value)
        amax = expected[name]
        if amax is not None and abs(value - amax) > amax * _TOLERANCE:
            raise failures.uncalibrated_scale(name, value, amax)
    not_compared = tuple(sorted(name for name in stored if expected[name] is None))
    return Calibrated(scales=len(stored), not_compared=not_compared)


def _is_of_cache(name: str) -> bool:
    return name.endswith(CACHE_SCALES)
