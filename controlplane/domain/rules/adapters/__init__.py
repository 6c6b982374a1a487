"""EH7: LoRA adapters."""
