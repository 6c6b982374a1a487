"""Tunings of lookahead: recorded answers said again under each setting, and what to serve with."""
