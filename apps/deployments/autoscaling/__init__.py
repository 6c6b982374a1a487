"""Deployments that follow their load: the signal, the decisions, their history."""
