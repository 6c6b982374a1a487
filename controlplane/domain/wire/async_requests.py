"""How the queue's own requests name whose they are."""

ON_BEHALF_HEADER = "x-enginehouse-on-behalf-of"
"""The SHA-256 of the key that asked; taken from the queue's own keys alone."""
