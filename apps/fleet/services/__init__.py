"""Writes of the fleet, by noun: enrollment tokens, nodes, GPUs, gateways, workers."""
