"""Writes of what was seen: usage by the minute, engine samples."""
