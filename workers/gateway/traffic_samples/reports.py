"""Tells the control plane how many outlines lie here, and the figures that it ordered of them."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.json_text import read_json
from workers.gateway.control_plane import (
    BatchRefused,
    ControlPlane,
    ControlPlaneAway,
    CredentialRefused,
)
from workers.gateway.membership import Membership
from workers.gateway.snapshot import Snapshot
from workers.gateway.traffic_samples.sample_files import Held, SampleFiles
from workers.gateway.traffic_samples.simulating import (
    LONGEST_SECONDS,
    SimulationFailed,
    simulate,
)

log = logging.getLogger(__name__)
REPORT_SECONDS = 5.0
_MOST_ORDERS = 16

Order = Mapping[str, Any]


class SampleReports:
    """Silent where no team consents: then nothing is said, and nothing lies here."""

    def __init__(
        self,
        control_plane: ControlPlane,
        membership: Membership,
        files: SampleFiles,
        snapshot: Callable[[], Snapshot | None],
        *,
        clock: Clock = SYSTEM,
    ) -> None:
        self._control_plane, self._membership = control_plane, membership
        self._files, self._snapshot = files, snapshot
        self._clock = clock
        self._reported: Sequence[Held] = ()
        self._done: dict[str, Mapping[str, Any]] = {}
        """Figures by the id of their tuning, until they have arrived."""
        self._running: tuple[str, asyncio.Task[None]] | None = None

    async def send(self) -> None:
        """Delete what may not stay, say what is left, and begin what is ordered."""
        snapshot = self._snapshot()
        if snapshot is None:
            return  # what is consented to is not known yet: nothing is kept, and nothing deleted
        consents_of_models = (each.consent for each in snapshot.models.values())
        consents = {each.id: each for each in consents_of_models if each is not None}
        samples = await asyncio.to_thread(self._files.sweep, consents)
        if not (consents or samples or self._reported or self._done):
            return
        delivered = dict(self._done)
        try:
            answer = await self._ask(samples, delivered)
        except BatchRefused:
            log.error("figures of samples were refused, and are dropped")
            self._done.clear()
            return
        except (ControlPlaneAway, CredentialRefused) as error:
            log.debug("samples were not told: %s", error)
            return
        self._reported = samples
        for tuning_id in delivered:
            self._done.pop(tuning_id, None)
        self._take(_orders_in(answer))

    async def close(self) -> None:
        if self._running is not None:
            self._running[1].cancel()
            await asyncio.gather(self._running[1], return_exceptions=True)

    async def _ask(self, samples: Sequence[Held], done: Mapping[str, Any]) -> bytes:
        body = {"samples": [each._asdict() for each in samples], "figures": done}
        credential = await self._membership.credential()
        return await self._control_plane.report_samples(json.dumps(body).encode(), credential)

    def _take(self, orders: Sequence[Order]) -> None:
        """Go on with what is still ordered, and begin the next."""
        orders_by_id = {str(each["tuning_id"]): each for each in orders}
        if self._running is not None and self._running[1].done():
            self._running = None
        if self._running is not None and self._running[0] not in orders_by_id:
            self._running[1].cancel()
            return
        if self._running is None:
            for tuning_id, order in orders_by_id.items():
                self._running = tuning_id, asyncio.create_task(self._work(tuning_id, order))
                return

    async def _work(self, tuning_id: str, order: Order) -> None:
        folder = self._files.folder(str(order["consent_id"]), str(order["model_id"]))
        arguments = {
            "folder": str(folder),
            "settings": order["settings"],
            "device": order["device"],
        }
        try:
            async with self._clock.timeout(LONGEST_SECONDS):
                self._done[tuning_id] = await simulate(arguments)
        except TimeoutError:
            self._done[tuning_id] = {"failure": "slow"}
        except SimulationFailed as error:
            self._done[tuning_id] = {"failure": str(error)}


def _orders_in(answer: bytes) -> list[Order]:
    try:
        orders = read_json(answer)["orders"][:_MOST_ORDERS]
        return [each for each in orders if _is_order(each)]
    except (ValueError, KeyError, TypeError):
        log.warning("what was ordered of samples cannot be read")
        return []


def _is_order(value: Any) -> bool:
    ids = (value["tuning_id"], value["consent_id"], value["model_id"])
    return all(isinstance(each, str) and each.isalnum() for each in ids)
