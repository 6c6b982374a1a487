"""Moves of an environment's traffic in steps: carried out, commanded, shown and remembered."""
