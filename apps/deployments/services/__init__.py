"""Writes of deployments, by noun."""
