"""Who this node is to the control plane: a credential on disk, or a token to get one."""

import hashlib
import json
import logging
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from workers.agent import inventory
from workers.agent.control_plane import (
    ControlPlaneAway,
    HttpControlPlane,
    NotEnrolled,
    enroll,
)
from workers.agent.folders import write_json
from workers.agent.identity import boot_id
from workers.agent.settings import Settings

AGENT_VERSION = "0.1.0"
_log = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class EnrolledControlPlane:
    """The control plane, with the enrollment done when it is first needed or was replaced."""

    def __init__(self, settings: Settings) -> None:
        """Raises NotEnrolled where there is neither a credential nor a token."""
        self._settings = settings
        self._credential = _stored(settings)
        if self._credential is None and not settings.enrollment_token:
            raise NotEnrolled(
                "This node is not enrolled. Set ENROLLMENT_TOKEN to what "
                "`manage.py enrollment_token` prints on the control plane."
            )

    def observe(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        return self._call(lambda plane: plane.observe(observation))

    def ship_log(self, *, replica_id: str, attempt: int, sequence: int, text: str) -> None:
        self._call(
            lambda plane: plane.ship_log(
                replica_id=replica_id, attempt=attempt, sequence=sequence, text=text
            )
        )

    def leave(self) -> None:
        self._credential = None
        (self._settings.home / "credential.json").unlink(missing_ok=True)

    def _call(self, act: Callable[[HttpControlPlane], Answer]) -> Answer:
        url = self._settings.control_plane_url
        if self._credential is not None:
            try:
                return act(HttpControlPlane(url, self._credential))
            except NotEnrolled as refused:
                _log.warning("the credential of this node is refused: %s", refused)
        self._credential = self._enroll()
        return act(HttpControlPlane(url, self._credential))

    def _enroll(self) -> str:
        settings = self._settings
        credential = _chosen(settings)
        content = {**describe(settings), "credential_sha256": sha256_of(credential)}
        try:
            answer = enroll(settings.control_plane_url, settings.enrollment_token, content)
        except NotEnrolled as refused:
            # Nothing to be done from here but to ask again: engines go on all the same.
            raise ControlPlaneAway(f"this node cannot enroll: {refused}") from None
        stored = {"node_id": answer["node_id"], "credential": credential}
        write_json(settings.home / "credential.json", stored)
        _chosen_file(settings).unlink(missing_ok=True)
        _log.info("enrolled as node %s (%s)", settings.node_name, answer["node_id"])
        return credential


def describe(settings: Settings) -> dict[str, Any]:
    return {
        "name": settings.node_name,
        "address": settings.node_address,
        "engine_ports": list(settings.ports),
        "boot_id": boot_id(),
        "agent_version": AGENT_VERSION,
        "host_memory_bytes": inventory.host_memory().total,
        "devices": inventory.devices(settings.node_name),
        "facts": {"threads": settings.threads},
    }


def sha256_of(credential: str) -> str:
    return hashlib.sha256(credential.encode()).hexdigest()


def _chosen(settings: Settings) -> str:
    """Return the credential to enroll with: the same until an answer came, which may get lost."""
    try:
        return str(json.loads(_chosen_file(settings).read_bytes())["credential"])
    except (OSError, ValueError, KeyError):
        credential = secrets.token_urlsafe(32)
        write_json(_chosen_file(settings), {"credential": credential})
        return credential


def _chosen_file(settings: Settings) -> Path:
    return settings.home / "enrolling.json"


def _stored(settings: Settings) -> str | None:
    try:
        content = json.loads((settings.home / "credential.json").read_bytes())
    except (OSError, ValueError):
        return None
    return str(content["credential"])
