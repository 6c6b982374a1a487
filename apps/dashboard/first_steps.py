"""The way from a one-time link to a first answer, each step ticked by what is there."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse

from apps.accounts.models import User
from apps.builds.models import Build
from apps.configs.models import Revision
from apps.fleet.selectors import builder_is_there
from apps.telemetry.series.running import has_answered
from controlplane.domain.lifecycle import BuildState


@dataclass(frozen=True, kw_only=True)
class FirstStep:
    """One step from nothing to a first answer; `command` or `url` is how to do it."""

    label: str
    is_done: bool
    says: str = ""
    command: str = ""
    url: str = ""
    verb: str = ""


@dataclass(frozen=True, kw_only=True)
class Newcomer:
    user: User
    may_sign_in: bool
    has_devices: bool
    has_deployments: bool
    model_ids: Sequence[str]

    @cached_property
    def built(self) -> Build | None:
        succeeded = Build.objects.filter(team=self.user.team, state=BuildState.SUCCEEDED)
        return succeeded.only("number").order_by("-number").first()

    @cached_property
    def config_id(self) -> str | None:
        ready = Revision.objects.filter(config__team=self.user.team, blocks_build=False)
        return ready.order_by("-created_at").values_list("config_id", flat=True).first()

    @property
    def plans(self) -> bool:
        return Revision.objects.filter(config__team=self.user.team).exists()


def first_steps(newcomer: Newcomer) -> Sequence[FirstStep]:
    """Return the whole way, with what is done ticked; empty once there is nothing left to do."""
    if newcomer.user.first_steps_hidden_at is not None:
        return ()
    steps = (_come_back(newcomer), *_machine(newcomer), *_config_to_call(newcomer))
    return () if all(step.is_done for step in steps) else steps


def _come_back(newcomer: Newcomer) -> FirstStep:
    return FirstStep(
        label="Set a password",
        is_done=newcomer.may_sign_in,
        says="The link that let you in works once. Choose a password to sign in with.",
        url=reverse("accounts:account"),
        verb="Choose a password",
    )


def _machine(newcomer: Newcomer) -> tuple[FirstStep, ...]:
    return (
        FirstStep(
            label="Have a worker that builds",
            is_done=newcomer.built is not None or builder_is_there(),
            says="One command starts everything that one machine needs.",
            command="python manage.py up",
        ),
        FirstStep(
            label="Add a GPU, or plan without one",
            is_done=newcomer.has_devices or newcomer.config_id is not None or newcomer.plans,
            says="An agent offers its host's GPUs, or its CPU. Without any, a config can still be "
            "planned and checked for every kind; only building needs the GPU.",
            command="python manage.py enrollment_token",
            url=reverse("configs:start"),
            verb="Plan only",
        ),
    )


def _config_to_call(newcomer: Newcomer) -> tuple[FirstStep, ...]:
    built, config_id = newcomer.built, newcomer.config_id
    return (
        FirstStep(
            label="Write a config that passes the checks",
            is_done=built is not None or config_id is not None,
            says="Begin with a model id, an example, or what you run today.",
            url=reverse("configs:start"),
            verb="New config",
        ),
        FirstStep(
            label="Build it",
            is_done=built is not None,
            says="The config's page has the button.",
            url=reverse("configs:editor", args=[config_id])
            if config_id
            else reverse("configs:list"),
            verb="Open the config" if config_id else "See configs",
        ),
        FirstStep(
            label="Deploy it",
            is_done=newcomer.has_deployments,
            says="A build that succeeded has the button.",
            url=reverse("deployments:deploy", args=[built.number])
            if built
            else reverse("builds:list"),
            verb="Deploy" if built else "See builds",
        ),
        FirstStep(
            label="Call it",
            is_done=has_answered(model_ids=newcomer.model_ids),
            says="The deployment's page has the lines to paste.",
            url=reverse("deployments:list"),
            verb="See models",
        ),
    )
