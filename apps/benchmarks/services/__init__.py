"""Writes of benchmarks."""
