"""Writes of secrets, and the one way to a value: `secret_reveal`."""
