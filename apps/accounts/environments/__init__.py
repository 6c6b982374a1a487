"""Environments that only some of a team may change."""
