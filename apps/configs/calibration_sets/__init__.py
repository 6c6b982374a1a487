"""Calibration data that a team uploads and keeps, and previews of it as a model will see it."""
