from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.builds.passports.passport import short_digest
from apps.configs.calibration_sets.presentation import skipped_words
from apps.ui import formats


@dataclass(frozen=True, kw_only=True)
class CalibrationPanel:
    calibration: Mapping[str, Any]
    samples: Sequence[Mapping[str, Any]]
    """A few as the model saw them; none where the artifact of another build was taken."""
    shown_by: int | None = None
    """The number of that other build, whose page has them."""

    @property
    def split(self) -> str:
        return " ".join(
            each for each in (self.calibration["config"], self.calibration["split"]) if each
        )

    @property
    def short_revision(self) -> str:
        return short_digest(self.calibration["revision"])

    @property
    def samples_words(self) -> str:
        used, size = self.calibration["used"], self.calibration["size_asked"]
        if not used:
            held_out = formats.number(self.calibration["held_out"])
            return f"none: scales come from the weights alone; {held_out} held out for the gate"
        return (
            f"{formats.number(used)} of {formats.number(size)} asked for, "
            f"{formats.number(self.calibration['tokens'])} tokens, "
            f"{formats.number(self.calibration['held_out'])} more held out for the gate"
        )

    @property
    def skipped_words(self) -> str:
        read = formats.number(self.calibration["rows_read"])
        return f"{skipped_words(self.calibration) or 'none'} of {read} rows read"

    @property
    def length_words(self) -> str:
        """Where samples end, how many were cut there, and why that is not what was asked."""
        words = f"up to {formats.number(self.calibration['max_length'])} tokens"
        if self.calibration["max_length"] != self.calibration["max_length_asked"]:
            words += f" (the model knows no more; {self.calibration['max_length_asked']} asked for)"
        cut = self.calibration.get("truncated")
        return f"{words}, {formats.number(cut)} cut there" if cut else words
