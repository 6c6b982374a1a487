"""The body of `async_predict`: read whole, or refused with every place that is wrong.

Source: the hosted product's inference API, 2026-07-01, and its guide to asynchronous inference.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from controlplane.domain.json_text import read_json

MOST_BODY_BYTES = 256 * 1024
LONGEST_ADDRESS = 2000
PRIORITIES = (0, 2, 0)
"""The least, the most, and what holds where nothing is said; 0 goes first."""
QUEUE_SECONDS = (10, 259_200, 600)
ATTEMPTS = (1, 10, 3)
INITIAL_DELAY_MS = (0, 10_000, 1_000)
MAX_DELAY_MS = (0, 60_000, 5_000)
_FIELDS = (
    "model_input", "webhook_endpoint", "priority", "max_time_in_queue_seconds",
    "inference_retry_config",
)  # fmt: skip
_RETRY_FIELDS = ("max_attempts", "initial_delay_ms", "max_delay_ms")
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_SHOWN = 80
Range = tuple[int, int, int]


class AskProblem(ValueError):
    """The body is refused; the text says what is wrong where, and what to do."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    model_input: str
    """As JSON, in ASCII: what it holds reaches the model as it came."""
    webhook_endpoint: str = ""
    priority: int = PRIORITIES[2]
    queue_seconds: int = QUEUE_SECONDS[2]
    max_attempts: int = ATTEMPTS[2]
    initial_delay_ms: int = INITIAL_DELAY_MS[2]
    max_delay_ms: int = MAX_DELAY_MS[2]


def read_ask(content: bytes | str) -> Ask:
    """Return what the body asks for. Raises AskProblem."""
    data = _object(content)
    _refuse_unknown(data, _FIELDS, "")
    if "model_input" not in data:
        raise AskProblem("`model_input` is missing. Put what the model is asked there.")
    retries = data.get("inference_retry_config")
    retries = {} if retries is None else retries
    if not isinstance(retries, dict):
        raise AskProblem("`inference_retry_config` is no object. Send an object or leave it out.")
    _refuse_unknown(retries, _RETRY_FIELDS, "inference_retry_config.")
    return Ask(
        model_input=_input(data["model_input"]),
        webhook_endpoint=_address(data.get("webhook_endpoint")),
        priority=_whole(data, "priority", PRIORITIES),
        queue_seconds=_whole(data, "max_time_in_queue_seconds", QUEUE_SECONDS),
        max_attempts=_whole(retries, "max_attempts", ATTEMPTS, "inference_retry_config."),
        initial_delay_ms=_whole(
            retries, "initial_delay_ms", INITIAL_DELAY_MS, "inference_retry_config."
        ),
        max_delay_ms=_whole(retries, "max_delay_ms", MAX_DELAY_MS, "inference_retry_config."),
    )


def _object(content: bytes | str) -> Mapping[str, Any]:
    try:
        data = read_json(content)
    except ValueError as error:
        raise AskProblem(f"The body is not JSON: {error}.") from None
    if not isinstance(data, dict):
        raise AskProblem("The body is no JSON object. Send an object with `model_input`.")
    return data


def _refuse_unknown(data: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    if unknown := sorted(data.keys() - set(known)):
        names = ", ".join(f"`{each}`" for each in known)
        raise AskProblem(f"There is no field `{place}{unknown[0][:_SHOWN]}`. Fields are {names}.")


def _input(value: Any) -> str:
    if isinstance(value, dict) and value.get("stream") not in (None, False):
        raise AskProblem(
            f"`model_input.stream` is `{_shown(value['stream'])}`. An asynchronous request has no "
            "stream: leave it out, or ask `predict`."
        )
    return json.dumps(value)


def _address(value: Any) -> str:
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_ADDRESS or not value.isprintable():
        raise AskProblem(
            f"`webhook_endpoint` is `{_shown(value)}`. Send an address of at most "
            f"{LONGEST_ADDRESS} printable characters."
        )
    scheme, host, has_login = _parts(value)
    if has_login:
        raise AskProblem(
            "`webhook_endpoint` holds a login, which everyone of the team could read. Leave it "
            "out; a signing secret proves who sends."
        )
    if not host or not (scheme == "https" or (scheme == "http" and host in _LOCAL_HOSTS)):
        raise AskProblem(
            f"`webhook_endpoint` is `{_shown(value)}`. Send an https:// address; http:// is taken "
            "for localhost alone."
        )
    return value


def _parts(address: str) -> tuple[str, str, bool]:
    try:
        parts = urlsplit(address)
        _ = parts.port
        return parts.scheme, parts.hostname or "", "@" in parts.netloc
    except ValueError:
        return "", "", False


def _whole(data: Mapping[str, Any], name: str, limits: Range, place: str = "") -> int:
    least, most, default = limits
    value = data.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise AskProblem(
            f"`{place}{name}` is `{_shown(value)}`. Send a whole number from {least} to {most:,}."
        )
    return value


def _shown(value: Any) -> str:
    # Python writes no whole number of more than 4,300 digits.
    try:
        return json.dumps(value, ensure_ascii=False).strip('"')[:_SHOWN]
    except ValueError:
        return "a number of thousands of digits"
