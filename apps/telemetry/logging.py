"""Logs of our own processes: structlog on top of the standard library, one line an event."""

import logging
import logging.config


def configure(settings: dict[str, str]) -> None:
    """Set up the process's log once, at `settings["level"]`."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": {"format": "%(levelname)s %(name)s %(message)s"}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": settings["level"]},
        }
    )
