"""Writes of calibration sets and of previews."""
