"""What the agent knows of the control plane, and how it speaks to it over HTTP."""

import hashlib
from collections.abc import Mapping
from http import HTTPStatus
from http.client import responses
from typing import Any, Protocol

from controlplane.domain.json_text import read_json
from controlplane.domain.storable import storable
from controlplane.domain.wire.removal import is_removal
from workers.bounded_http import Answer, Limits, NoAnswer, ask

TIMEOUT_SECONDS = 5.0
LONGEST_ANSWER_BYTES = 16 * 1024 * 1024
_LONGEST_MESSAGE = 1000


class ControlPlaneAway(Exception):
    """It did not answer, or not as it should; asking again later may work."""


class NodeRemoved(ControlPlaneAway):
    """The control plane has removed this node, and signed that it has: nothing may run here."""


class NotEnrolled(Exception):
    """The credential or the token is not, or no longer, good."""


class ControlPlane(Protocol):
    """Where wanted state comes from and observed state goes."""

    def observe(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        """Report what is, and return what should be."""

    def ship_log(self, *, replica_id: str, attempt: int, sequence: int, text: str) -> None:
        """Hand in one piece of a replica's log; a repeat is harmless."""

    def leave(self) -> None:
        """Forget the credential of a node that was removed; the next call enrolls anew."""


class HttpControlPlane:
    """The control plane behind /internal/v1. Every call raises ControlPlaneAway or NotEnrolled."""

    def __init__(self, url: str, credential: str) -> None:
        self._url = url
        self._credential = credential

    def observe(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        answer = post(self._url, "nodes/observe", observation, bearer=self._credential)
        if not _says_what_is_wanted(answer):
            raise ControlPlaneAway("nodes/observe: it did not answer with the replicas wanted")
        return answer

    def ship_log(self, *, replica_id: str, attempt: int, sequence: int, text: str) -> None:
        body = {"replica_id": replica_id, "attempt": attempt, "sequence": sequence, "text": text}
        post(self._url, "nodes/logs", body, bearer=self._credential)

    def leave(self) -> None:
        """Nothing is kept here."""


def enroll(url: str, token: str, node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the node's id. Raises ControlPlaneAway or NotEnrolled."""
    answer = post(url, "nodes/enroll", node, bearer=token)
    if not isinstance(answer.get("node_id"), str):
        raise ControlPlaneAway("nodes/enroll: it did not answer with a node's id")
    return answer


def post(url: str, path: str, body: Mapping[str, Any], *, bearer: str) -> dict[str, Any]:
    """Return the JSON answer. Raises ControlPlaneAway or NotEnrolled."""
    try:
        answer = ask(
            "POST",
            f"{url}/internal/v1/{path}",
            limits=Limits(seconds=TIMEOUT_SECONDS, most_bytes=LONGEST_ANSWER_BYTES),
            json_body=storable(body),
            headers={"Authorization": f"Bearer {bearer}"},
        )
    except NoAnswer as error:
        raise ControlPlaneAway(f"{path}: {error}") from None
    if answer.status == HTTPStatus.UNAUTHORIZED:
        raise NotEnrolled(_message(answer))
    if answer.status == HTTPStatus.GONE and _is_signed(answer, bearer):
        raise NodeRemoved(_message(answer))
    if answer.status != HTTPStatus.OK:
        raise ControlPlaneAway(f"{path}: {answer.status} {_message(answer)}")
    return _content(path, answer)


def _is_signed(answer: Answer, credential: str) -> bool:
    try:
        details = read_json(answer.content)["details"]
        node_id, signature = str(details["node_id"]), str(details["signature"])
    except (ValueError, KeyError, TypeError):
        return False
    sha256 = hashlib.sha256(credential.encode()).hexdigest()
    return is_removal(credential_sha256=sha256, node_id=node_id, signature=signature)


def _says_what_is_wanted(answer: Mapping[str, Any]) -> bool:
    replicas = answer.get("replicas")
    return isinstance(replicas, list) and all(
        isinstance(each, dict) and each.keys() >= {"id", "generation", "wanted"}
        for each in replicas
    )


def _content(path: str, answer: Answer) -> dict[str, Any]:
    try:
        content = read_json(answer.content)
    except ValueError as error:
        raise ControlPlaneAway(f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise ControlPlaneAway(f"{path}: it did not answer with an object")
    return content


def _message(answer: Answer) -> str:
    try:
        return str(read_json(answer.content)["message"])[:_LONGEST_MESSAGE]
    except (ValueError, KeyError, TypeError):
        return responses.get(answer.status, "")
