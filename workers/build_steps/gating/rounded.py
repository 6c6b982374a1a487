"""Whether quantized numbers are those of the original, rounded by the scales that they have."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from torch import Tensor

from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures
from workers.engine.quantized import dequantize_nvfp4
from workers.engine.rounding import NVFP4_BLOCK

E4M3_LARGEST = 448.0
E2M1_LARGEST = 6.0
SIXTEEN_BITS = 2.0**-8
"""What the largest value moves by, as a share, where the weights were computed in bfloat16."""
_E4M3_ROUNDING = 2.0**-4 + SIXTEEN_BITS
_E4M3_SMALLEST_HALF_STEPS = 2.0**-9
"""Two halves of the smallest step of E4M3, in units of its scale."""
_E2M1_ROUNDING = 1.1
"""Half the largest step of E2M1, in units of its block's scale, and what that was rounded by."""
_PARTS = 64
"""Of a tensor that is looked at whole, so that little is in memory beside it."""
_LOOKED_AT = 2**22
"""Numbers of a tensor that are compared one by one; of a larger one, rows evenly apart."""


@dataclass(frozen=True, kw_only=True)
class Rounded:
    """A quantized tensor and its scales; what is multiplied with one input lies in a row.

    It has two dimensions, or three where it holds several experts.
    """

    name: str
    scale_name: str
    weight: Tensor
    scale: Tensor
    """One for all numbers in FP8; in FP4 one a block, and another for all blocks."""
    whole_scale: Tensor | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers; FP4 keeps two in a byte."""
        *above, columns = self.weight.shape
        return (*above, columns * (1 if self.whole_scale is None else 2))

    @property
    def largest(self) -> float:
        """The largest value that its scale can express."""
        if self.whole_scale is None:
            return float(self.scale) * E4M3_LARGEST
        return float(self.whole_scale) * E4M3_LARGEST * E2M1_LARGEST


def find_fault(rounded: Rounded, original: Tensor) -> StepFailure | None:
    """Return the failure of the first number or block that is another's, by the scale it has."""
    return _find_no_number(rounded) or _find_moved(rounded, original)


def find_fp8_fault(
    name: str, weight: Tensor, scale: Tensor, original: Tensor
) -> StepFailure | None:
    """Return the failure of the first number that is another's; each has its own scale here."""
    if _has_no_number(weight):
        return failures.foreign_weight(name, "holds nan", "numbers only")
    every = max(1, original.numel() // _LOOKED_AT)
    scale, expected = scale[::every], original[::every].float()
    allowed = expected.abs() * _E4M3_ROUNDING + scale * _E4M3_SMALLEST_HALF_STEPS
    return _first_moved(name, weight[::every].float() * scale, expected, allowed)


def _find_no_number(rounded: Rounded) -> StepFailure | None:
    """Look at all of it: beside what is no number, every comparison would be false."""
    if rounded.whole_scale is None and _has_no_number(rounded.weight):
        return failures.foreign_weight(rounded.name, "holds nan", "numbers only")
    if rounded.whole_scale is not None and _has_no_number(rounded.scale):
        return failures.broken_scale(rounded.scale_name, nan)
    return None


def _has_no_number(codes: Tensor) -> bool:
    return any(bool(each.float().isnan().any()) for each in codes.chunk(_PARTS))


def _find_moved(rounded: Rounded, original: Tensor) -> StepFailure | None:
    every = max(1, original.numel() // _LOOKED_AT)
    looked_at, weight = original[..., ::every, :].float(), rounded.weight[..., ::every, :]
    if rounded.whole_scale is None:
        return _fp8_fault(rounded, weight, looked_at)
    return _fp4_fault(rounded, weight, rounded.scale[..., ::every, :].float(), looked_at)


def _fp8_fault(rounded: Rounded, weight: Tensor, original: Tensor) -> StepFailure | None:
    scale = rounded.scale.float()
    allowed = original.abs() * _E4M3_ROUNDING + scale * _E4M3_SMALLEST_HALF_STEPS
    return _first_moved(rounded.name, weight.float() * scale, original, allowed)


def _fp4_fault(
    rounded: Rounded, weight: Tensor, scale: Tensor, original: Tensor
) -> StepFailure | None:
    assert rounded.whole_scale is not None
    whole = rounded.whole_scale.float()
    largest = original.unflatten(-1, (-1, NVFP4_BLOCK)).abs().amax(-1)
    expressed, smallest = scale * whole * E2M1_LARGEST, whole * E2M1_LARGEST
    allowed = largest * _E4M3_ROUNDING + smallest * _E4M3_SMALLEST_HALF_STEPS
    wrong = ((expressed - largest).abs() > allowed) & (largest > 0)
    if wrong.any():
        place = tuple(wrong.nonzero()[0])
        return failures.foreign_scale(
            rounded.scale_name, float(expressed[place]) / float(largest[place]),
            float(largest[place]), block=_in_words(place),
        )  # fmt: skip
    steps = (scale * whole).repeat_interleave(NVFP4_BLOCK, dim=-1) * _E2M1_ROUNDING
    allowed = steps + original.abs() * _E4M3_ROUNDING
    return _first_moved(rounded.name, dequantize_nvfp4(weight, scale, whole), original, allowed)


def _first_moved(
    name: str, values: Tensor, original: Tensor, allowed: Tensor
) -> StepFailure | None:
    moved = (values - original).abs() > allowed
    if not moved.any():
        return None
    place = tuple(moved.nonzero()[0])
    where = f" in expert {int(place[0])}" if values.dim() == 3 else ""
    return failures.foreign_weight(
        name, f"holds {float(values[place]):.4g}{where}", f"{float(original[place]):.4g}"
    )


def _in_words(place: Sequence[Tensor]) -> str:
    """Return the place of a block, such as `expert 2, row 0, block 3`."""
    names = ("expert", "row", "block")[-len(place) :]
    return ", ".join(f"{name} {int(each)}" for name, each in zip(names, place, strict=True))
