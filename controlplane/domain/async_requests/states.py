"""Where an asynchronous request and its webhook stand, in the hosted product's words."""

from enum import StrEnum


class AsyncStatus(StrEnum):
    QUEUED = "QUEUED"
    IN_PROGRESS = "IN_PROGRESS"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    EXPIRED = "EXPIRED"
    CANCELED = "CANCELED"
    WEBHOOK_FAILED = "WEBHOOK_FAILED"
    """The model answered, and its webhook did not take the answer."""


class WebhookStatus(StrEnum):
    PENDING = "PENDING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    """The request never ran to an end: nothing is sent."""
    NONE = "NO_WEBHOOK_PROVIDED"


class ErrorCode(StrEnum):
    PREDICT_ERROR = "MODEL_PREDICT_ERROR"
    PREDICT_TIMEOUT = "MODEL_PREDICT_TIMEOUT"
    NOT_READY = "MODEL_NOT_READY"
    DOES_NOT_EXIST = "MODEL_DOES_NOT_EXIST"
    UNAVAILABLE = "MODEL_UNAVAILABLE"
    INVALID_INPUT = "MODEL_INVALID_INPUT"
    NOT_SUPPORTED = "ASYNC_REQUEST_NOT_SUPPORTED"
    INTERNAL = "INTERNAL_SERVER_ERROR"


OPEN = frozenset({AsyncStatus.QUEUED, AsyncStatus.IN_PROGRESS})
