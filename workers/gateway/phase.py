from enum import StrEnum


class Phase(StrEnum):
    WAITING = "waiting"
    """For a connection, or for routes."""
    ASKING = "asking"
    ANSWERING = "answering"
    ENDED = "ended"
