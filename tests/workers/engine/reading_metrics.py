"""Reads one number of an engine's metrics page."""

from workers.engine.engine import Engine


def metric(engine: Engine, name: str) -> float:
    """Give back the value of the metric of this full name."""
    for line in engine.metrics.expose().decode().splitlines():
        if line.startswith(f"{name} "):
            return float(line.split()[1])
    raise LookupError(name)
