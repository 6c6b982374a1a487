"""A package, so that its one installation ends with the last of its tests."""
