"""Whether a checkpoint holds what its model class wants, and whether it is all numbers."""
