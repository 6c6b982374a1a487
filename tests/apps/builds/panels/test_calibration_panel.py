"""What a build was calibrated on, in words."""

from apps.builds.panels.calibration import CalibrationPanel

TOLD = {"used": 48, "size_asked": 64, "tokens": 900, "held_out": 16}


def test_samples_that_were_run_are_told_with_what_was_asked_for() -> None:
    words = CalibrationPanel(calibration=TOLD, samples=()).samples_words
    assert words == "48 of 64 asked for, 900 tokens, 16 more held out for the gate"


def test_a_type_that_runs_none_says_where_its_scales_come_from() -> None:
    words = CalibrationPanel(calibration={**TOLD, "used": 0, "tokens": 0}, samples=()).samples_words
    assert words == "none: scales come from the weights alone; 16 held out for the gate"
