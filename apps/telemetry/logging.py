"""Logs of our own processes: structlog on top of the standard library, one line an event.

Bind `build_id` or `deployment_id` with `structlog.contextvars.bound_contextvars`, and every line
of that thread carries it, the standard library's included.
"""

import logging
import logging.config
from typing import Any

import structlog
from structlog.types import EventDict, Processor, WrappedLogger

from controlplane.domain.redaction import Redactor

_REDACTOR = Redactor()


def configure(settings: dict[str, str]) -> None:
    """Set up the process's log once, at `settings["level"]`."""
    logging.config.dictConfig(_standard_library(settings["level"]))
    structlog.configure(
        processors=[*_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def redact(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Return the event without what looks like a secret, tracebacks included."""
    return {key: _redacted(value) for key, value in event.items()}


def _standard_library(level: str) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    redact,
                    _render,
                ],
                "foreign_pre_chain": _shared(),
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        # Each request to the hub or to our own control plane would make a line.
        "loggers": {name: {"level": "WARNING"} for name in ("axes", "httpx", "httpx2")},
    }


def _shared() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
    ]


def _redacted(value: Any) -> Any:
    return _REDACTOR.data(value) if isinstance(value, str | dict | list | tuple) else value


def _render(_logger: WrappedLogger, _name: str, event: EventDict) -> str:
    level = str(event.pop("level", "info")).upper()
    name, event_text = event.pop("logger", ""), event.pop("event", "")
    trace = event.pop("exception", None)
    values = "".join(f" {key}={value}" for key, value in event.items())
    line = f"{level} {name} {event_text}{values}"
    return f"{line}\n{trace}" if trace else line
