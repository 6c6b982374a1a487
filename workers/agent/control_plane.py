"""What the agent knows of the control plane, and how it speaks to it over HTTP."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Protocol

TIMEOUT_SECONDS = 5.0


class ControlPlaneAway(Exception):
    """It did not answer, or not as it should; asking again later may work."""


class NotEnrolled(Exception):
    """The credential or the token is not, or no longer, good."""


class ControlPlane(Protocol):
    """Where wanted state comes from and observed state goes."""

    def observe(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        """Report what is, and return what should be."""

    def ship_log(self, *, replica_id: str, attempt: int, sequence: int, text: str) -> None:
        """Hand in one piece of a replica's log; a repeat is harmless."""


class HttpControlPlane:
    """The control plane behind /internal/v1. Every call raises ControlPlaneAway or NotEnrolled."""

    def __init__(self, url: str, credential: str) -> None:
        self._url = url
        self._credential = credential

    def observe(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        return post(self._url, "nodes/observe", observation, bearer=self._credential)

    def ship_log(self, *, replica_id: str, attempt: int, sequence: int, text: str) -> None:
        body = {"replica_id": replica_id, "attempt": attempt, "sequence": sequence, "text": text}
        post(self._url, "nodes/logs", body, bearer=self._credential)


def enroll(url: str, token: str, node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the node's id. Raises ControlPlaneAway or NotEnrolled."""
    return post(url, "nodes/enroll", node, bearer=token)


def post(url: str, path: str, body: Mapping[str, Any], *, bearer: str) -> dict[str, Any]:
    """Return the JSON answer. Raises ControlPlaneAway or NotEnrolled."""
    request = urllib.request.Request(
        f"{url}/internal/v1/{path}",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"},
        method="POST",
    )
    try:
        # Without proxies: the control plane is a neighbour, not the internet.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            content: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            message = _message(error)
        if error.code == 401:
            raise NotEnrolled(message) from None
        raise ControlPlaneAway(f"{path}: {error.code} {message}") from None
    except (OSError, ValueError) as error:
        raise ControlPlaneAway(f"{path}: {error}") from None
    return content


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["message"])
    except (OSError, ValueError, KeyError, TypeError):
        return str(error.reason)
