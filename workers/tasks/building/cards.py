"""The cards that a step runs on, leased from the same ledger as those of replicas."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psutil
from django.conf import settings

from apps.builds.services import card_holder
from apps.fleet.models import Node
from apps.fleet.selectors import SILENT_SECONDS, nodes_alive
from apps.fleet.services import NoRoom, cards_claim
from controlplane.domain import memory
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.spec import Spec
from workers.tasks.building.insist import insist
from workers.tasks.building.keeper import LeaseKeeper
from workers.tasks.building.report import StepReport
from workers.tasks.building.stopped import StepFailed

_PATIENCE_SECONDS = 600.0
_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class _Host:
    kind: str
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class _Refusal:
    """Why there are no cards for the build now."""

    code: str
    reason: str
    hint: str

    def to_failure(self) -> Failure:
        return Failure(
            code=self.code,
            blame=Blame.MACHINE,
            sentence=f"The smoke test got no room within {_PATIENCE_SECONDS / 60:.0f} minutes. "
            f"{self.reason}",
            hint=self.hint,
        )


def smoke_test_memory_bytes(spec: Spec, checkpoint: Mapping[str, Any]) -> int:
    """Return what the native engine needs to answer one request of full length."""
    host = _Host(kind=CPU, memory_bytes=psutil.virtual_memory().total)
    plan = memory.plan(spec, CheckpointFacts.model_validate(checkpoint), host, "native")
    one_request = min(plan.kv_cache_bytes, plan.sequence_tokens * plan.kv_bytes_per_token)
    return plan.fixed_bytes + int(one_request / min(max(plan.kv_fraction, 0.01), 1.0)) + 1


def claim_cards(keeper: LeaseKeeper, report: StepReport, spec: Spec, memory_bytes: int) -> None:
    """Return once the build holds its cards, or where this host has no node to claim them from.

    Raises:
        StepFailed: there was no room for ten minutes, or nobody who could tell of it.
        Interrupted: the build may not go on.
    """
    if not insist(keeper, lambda: Node.objects.filter(name=settings.NODE_NAME).exists()):
        report.say(
            f"no node named {settings.NODE_NAME} is enrolled: running on this host's CPU "
            "without a lease on its memory"
        )
        return
    deadline = time.monotonic() + _PATIENCE_SECONDS
    told = ""
    while (refusal := insist(keeper, lambda: _claim(keeper, spec, memory_bytes))) is not None:
        if refusal.reason != told:
            report.say(f"waiting for room: {refusal.reason}")
            told = refusal.reason
        if time.monotonic() > deadline:
            raise StepFailed(refusal.to_failure())
        time.sleep(_PAUSE_SECONDS)
        report.tick()
        keeper.check()


def _claim(keeper: LeaseKeeper, spec: Spec, memory_bytes: int) -> _Refusal | None:
    """Return why there is no room, or None once the cards are held."""
    node = nodes_alive().filter(name=settings.NODE_NAME).first()
    if node is None:
        # What its engines hold is unknown: to start beside them could take the host down.
        return _silent()
    try:
        cards_claim(
            holder=card_holder(keeper.lease.build_id),
            node=node,
            kind=spec.accelerator.kind if spec.accelerator else CPU,
            count=spec.accelerator_count,
            memory_bytes=memory_bytes,
        )
    except NoRoom as refused:
        return _no_room(str(refused))
    return None


def _silent() -> _Refusal:
    return _Refusal(
        code="EHB-NODE-SILENT",
        reason=f"Node `{settings.NODE_NAME}` has not spoken for {SILENT_SECONDS} seconds, so "
        "nobody knows what is free on it.",
        hint="Start the agent of this node, or see why it cannot reach the control plane, "
        "then retry.",
    )


def _no_room(reason: str) -> _Refusal:
    return _Refusal(
        code="EHB-NO-ROOM",
        reason=reason,
        hint="Stop a replica or another build on this node, then retry.",
    )
