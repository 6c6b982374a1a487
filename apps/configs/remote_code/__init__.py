"""Grants by which an admin lets one commit of a repository run its own Python."""
