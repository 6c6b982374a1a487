"""What the overview says: is anything wrong, what runs, what is free, what to do first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q, Sum
from django.urls import reverse

from apps.accounts.models import Team, User
from apps.alerts.conditions.troubles import troubles
from apps.alerts.selectors import alerts_firing
from apps.builds.models import Build
from apps.builds.presentation import BuildRow
from apps.builds.selectors import build_list, build_rows, store_check
from apps.dashboard.first_steps import Newcomer, first_steps
from apps.deployments.models import Deployment, ServedModel
from apps.deployments.selectors import deployment_states
from apps.fleet.models import Device
from apps.fleet.selectors import nodes_alive
from apps.secrets.presentation import ending_secrets
from apps.telemetry.traffic import traffic_of_team
from controlplane.domain.lifecycle import BUILD_TERMINAL, BuildState, DeploymentState

FAILURES_SHOWN = 3
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


@dataclass(frozen=True, kw_only=True)
class FailureNote:
    """Something that failed, with its cause."""

    what: str
    url: str
    failure: dict[str, Any]
    at: datetime


def overview_context(user: User) -> dict[str, Any]:
    """Return everything that the overview shows somebody of the team that they work in."""
    team = user.team
    model_ids = list(ServedModel.objects.filter(team=team).values_list("id", flat=True))
    states = deployment_states(team=team)
    running = build_list(team=team).exclude(state__in=BUILD_TERMINAL)[:RUNNING_SHOWN]
    devices = devices_by_kind()
    return {
        "states": [(state, count) for state, count, _ in states],
        "unconfirmed": sum(unheard for *_, unheard in states),
        "traffic": traffic_of_team(team_id=team.id),
        "builds": [BuildRow(build=build) for build in running],
        "devices": devices,
        "failures": failures(team),
        "troubles": troubles(),
        "alert_count": alerts_firing(team=team).count(),
        "store": store_check(),
        "ending": ending_secrets(team),
        "first_steps": first_steps(
            Newcomer(
                user=user,
                may_sign_in=user.has_usable_password() or bool(settings.OIDC_ISSUER_URL),
                has_devices=bool(devices),
                has_deployments=bool(states),
                model_ids=model_ids,
            )
        ),
    }


def devices_by_kind() -> Sequence[DevicesOfKind]:
    """Return the GPUs of live nodes by kind."""
    held = Sum("leases__memory_bytes", filter=Q(leases__released_at=None), default=0)
    present = Device.objects.filter(is_present=True, node__in=nodes_alive()).annotate(held=held)
    by_kind: dict[str, list[tuple[int, int]]] = {}
    for kind, memory, claimed in present.order_by("kind").values_list(
        "kind", "memory_bytes", "held"
    ):
        by_kind.setdefault(kind, []).append((memory, claimed))
    return [_of_kind(kind, devices) for kind, devices in by_kind.items()]


def failures(team: Team) -> Sequence[FailureNote]:
    """Return what failed last among builds and deployments, newest first."""
    failed = build_rows(Build.objects.filter(team=team, state=BuildState.FAILED))
    failed = failed.order_by("-finished_at")
    notes = [_build_note(build) for build in failed[:FAILURES_SHOWN]]
    broken = Deployment.objects.filter(model__team=team, failure__isnull=False)
    # A deployment whose build failed repeats what its build already says.
    broken = broken.exclude(state=DeploymentState.BUILD_FAILED).select_related("model")
    notes += [_deployment_note(each) for each in broken.order_by("-created_at")[:FAILURES_SHOWN]]
    return sorted(notes, key=lambda note: note.at, reverse=True)[:FAILURES_SHOWN]


def _of_kind(kind: str, devices: Sequence[tuple[int, int]]) -> DevicesOfKind:
    memory = sum(size for size, _ in devices)
    return DevicesOfKind(
        kind=kind,
        total=len(devices),
        free=sum(claimed == 0 for _, claimed in devices),
        memory_bytes=memory,
        free_bytes=max(0, memory - sum(claimed for _, claimed in devices)),
    )


def _build_note(build: Build) -> FailureNote:
    return FailureNote(
        what=f"Build {build.number} of {build.revision.config.name}",
        url=reverse("builds:build", args=[build.number]),
        failure=build.failure or {"code": "", "sentence": "It ended without giving a reason."},
        at=build.finished_at or build.created_at,
    )


def _deployment_note(deployment: Deployment) -> FailureNote:
    return FailureNote(
        what=f"{deployment.model.name}, {deployment.name}",
        url=reverse("deployments:deployment", args=[deployment.model_id, deployment.id]),
        failure=deployment.failure or {},
        at=deployment.created_at,
    )
