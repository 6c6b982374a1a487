"""Pushes of artifacts: to a repository of the hub, or to a folder in a bucket."""
