"""Which models quantization suits: what the guide says of their size and family."""

SMALL_MODEL_PARAMETERS = 8_000_000_000
"""Below this the guide sees minimal benefit from quantization."""
ESSENTIAL_PARAMETERS = 15_000_000_000
"""Above this the guide calls quantization essential."""
QWEN2_CALIBRATION_SAMPLES = 1024
KV_SENSITIVE_MODEL_TYPES = frozenset({"qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl"})
"""Families that keep a bias on Q, K and V, which a symmetric FP8 KV cache does not survive."""
