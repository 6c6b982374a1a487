"""EH8: the checkpoint, its files and sources, and the secrets that open it."""
