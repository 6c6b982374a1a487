"""Weights and KV cache into fewer bits with NVIDIA ModelOpt, as a checkpoint that engines load."""
