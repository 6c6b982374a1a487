"""What the overview says: is anything wrong, what is served, what is free, what to do first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Q, Sum

from apps.accounts.models import Team, User
from apps.alerts.incidents import Incidents, incidents
from apps.builds.presentation import BuildRow
from apps.builds.selectors import build_list
from apps.dashboard.first_steps import FirstStep, Newcomer, first_steps
from apps.deployments.environments.production import production_rows
from apps.deployments.models import ServedModel
from apps.deployments.selectors import deployment_states
from apps.fleet.models import Device
from apps.fleet.selectors import node_counts, nodes_alive
from apps.ui import tones
from controlplane import clock
from controlplane.domain.lifecycle import BUILD_TERMINAL

INCIDENTS_SHOWN = 5
PRODUCTION_SHOWN = 12
RUNNING_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class DevicesOfKind:
    """How many GPUs of one kind live nodes have, and how much of them is free."""

    kind: str
    total: int
    free: int
    memory_bytes: int
    free_bytes: int

    @property
    def is_shared(self) -> bool:
        """Whether memory is what counts, not whole GPUs."""
        return self.kind == "CPU"


def incidents_context(team: Team) -> dict[str, Any]:
    shown = incidents(team=team, most=INCIDENTS_SHOWN)
    return {
        "incidents": shown.worst,
        "incident_count": shown.count,
        "tab_title": _tab_title(shown),
    }


def overview_context(user: User) -> dict[str, Any]:
    team, now = user.team, clock.now()
    states = deployment_states(team=team)
    running = build_list(team=team).exclude(state__in=BUILD_TERMINAL)[:RUNNING_SHOWN]
    devices = devices_by_kind()
    steps = _steps(user, has_devices=bool(devices), has_deployments=bool(states))
    return {
        "states": [(state, count) for state, count, _ in states],
        "unconfirmed": sum(unheard for *_, unheard in states),
        "production": production_rows(team=team, most=PRODUCTION_SHOWN, now=now),
        "builds": [BuildRow(build=build) for build in running],
        "devices": devices,
        "nodes": node_counts(),
        "first_steps": steps,
        "next_step": next((step for step in steps if not step.is_done), None),
        "steps_done": [step for step in steps if step.is_done],
    }


def _steps(user: User, *, has_devices: bool, has_deployments: bool) -> Sequence[FirstStep]:
    models = ServedModel.objects.filter(team=user.team)
    return first_steps(
        Newcomer(
            user=user,
            may_sign_in=user.has_usable_password() or bool(settings.OIDC_ISSUER_URL),
            has_devices=has_devices,
            has_deployments=has_deployments,
            model_ids=list(models.values_list("id", flat=True)),
        )
    )


def _tab_title(shown: Incidents) -> str:
    rest = "Overview · Enginehouse"
    if not shown.worst:
        return rest
    severity, count = shown.worst[0].severity, shown.count
    return tones.title(severity, f"{count} incident{'s' * (count != 1)} · {rest}")


def devices_by_kind() -> Sequence[DevicesOfKind]:
    leased_bytes = Sum("leases__memory_bytes", filter=Q(leases__released_at=None), default=0)
    present = Device.objects.filter(is_present=True, node__in=nodes_alive()).annotate(
        held=leased_bytes
    )
    by_kind: dict[str, list[tuple[int, int]]] = {}
    for kind, memory, claimed in present.order_by("kind").values_list(
        "kind", "memory_bytes", "held"
    ):
        by_kind.setdefault(kind, []).append((memory, claimed))
    return [_of_kind(kind, devices) for kind, devices in by_kind.items()]


def _of_kind(kind: str, devices: Sequence[tuple[int, int]]) -> DevicesOfKind:
    memory = sum(size for size, _ in devices)
    return DevicesOfKind(
        kind=kind,
        total=len(devices),
        free=sum(claimed == 0 for _, claimed in devices),
        memory_bytes=memory,
        free_bytes=max(0, memory - sum(claimed for _, claimed in devices)),
    )
