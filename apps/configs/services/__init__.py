"""Writes of configs, and their checks, which may ask for facts."""
