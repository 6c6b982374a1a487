"""EH1: kind and number of GPUs, and which of them suits what."""
