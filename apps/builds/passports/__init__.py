"""What an artifact is made of."""
