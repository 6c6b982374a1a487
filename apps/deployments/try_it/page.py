"""What the page asks on which a model is tried: which places there are, and how each is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.urls import reverse

from apps.accounts.models import Team
from apps.deployments.addresses import (
    CHAT_ROUTE,
    CLASSIFY_ROUTE,
    GONE,
    LABEL_ROUTE,
    RERANK_ROUTE,
    Address,
    addresses_of,
)
from apps.deployments.models import Deployment
from apps.deployments.selectors import adapter_names, deployment_list, served_model_name
from apps.deployments.snippets import BODY, code_templates
from apps.rest.errors import NotFound
from controlplane.domain.facts.encoder_routes import EMBEDDINGS_ROUTE
from controlplane.domain.lifecycle import DeploymentState

FORM_OF: Mapping[str, str] = {
    CHAT_ROUTE: "chat",
    EMBEDDINGS_ROUTE: "embed",
    RERANK_ROUTE: "rerank",
    CLASSIFY_ROUTE: "classify",
    LABEL_ROUTE: "label",
}
_ASLEEP = frozenset({DeploymentState.SCALED_TO_ZERO, DeploymentState.INACTIVE})
_ON_THE_WAY = frozenset(
    {
        DeploymentState.BUILDING,
        DeploymentState.DEPLOYING,
        DeploymentState.LOADING_MODEL,
        DeploymentState.WAKING_UP,
    }
)


@dataclass(frozen=True, kw_only=True)
class TriedPlace:
    address: Address

    @property
    def deployment(self) -> Deployment:
        return self.address.deployment

    @property
    def title(self) -> str:
        return f"{self.deployment.model.name} · {self.address.label}"

    @property
    def form(self) -> str:
        return FORM_OF[self.address.route]

    @property
    def call_url(self) -> str:
        kind, name = self.address.place.split("/")[1:]
        parts = [self.deployment.model_id, kind, name, f"sync{self.address.route}"]
        return reverse("deployments:call", args=parts)

    @property
    def names(self) -> Sequence[str]:
        return [served_model_name(self.deployment), *adapter_names(self.deployment)]

    @property
    def code(self) -> Mapping[str, str]:
        return code_templates(self.address)

    @property
    def body_mark(self) -> str:
        return BODY

    @property
    def is_asleep(self) -> bool:
        return self.deployment.state in _ASLEEP

    @property
    def is_on_the_way(self) -> bool:
        return self.deployment.state in _ON_THE_WAY


@dataclass(frozen=True, kw_only=True)
class Choices:
    model_name: str
    addresses: Sequence[Address]


def usable_list(team: Team) -> Sequence[Deployment]:
    return list(deployment_list(team=team).exclude(state__in=GONE))


def tried_place(*, team: Team, usable: Sequence[Deployment], place: str) -> TriedPlace:
    """Return what is at `<model>/environments/<name>` or `<model>/deployment/<id>`.

    Raises NotFound.
    """
    model_id, _, rest = place.replace("\0", "").partition("/")
    kind, _, name = rest.partition("/")
    of_model = [each for each in usable if each.model_id == model_id]
    if kind == "environments" and (current := _in_environment(of_model, name)):
        return TriedPlace(address=Address(deployment=current, environment=name))
    if kind == "deployment":
        # One that has failed is shown with its reason.
        deployment = next((each for each in of_model if each.id == name), None) or (
            deployment_list(team=team, model_id=model_id).filter(id=name).first()
        )
        if deployment is not None:
            return TriedPlace(address=Address(deployment=deployment))
    raise NotFound(f"Nothing is served at `{place}`.")


def choices_of(
    usable: Sequence[Deployment], *, beside: TriedPlace | None = None
) -> Sequence[Choices]:
    """Return the places of the models; `beside` leaves those that are asked the same way."""
    fitting = [
        each
        for each in sorted(usable, key=lambda each: (each.model.name, each.model_id))
        if beside is None or FORM_OF[Address(deployment=each).route] == beside.form
    ]
    return [
        Choices(model_name=name, addresses=_places(list(group)))
        for (_, name), group in groupby(fitting, lambda each: (each.model_id, each.model.name))
    ]


def _places(deployments: Sequence[Deployment]) -> Sequence[Address]:
    addresses = [address for each in deployments for address in addresses_of(each)]
    return sorted(addresses, key=lambda address: not address.environment)


def _in_environment(deployments: Sequence[Deployment], name: str) -> Deployment | None:
    """Return what the environment points at; a first candidate is already there, and waits."""

    def pointed_at(places: str) -> Deployment | None:
        return next(
            (
                each
                for each in deployments
                if any(p.name == name for p in getattr(each, places).all())
            ),
            None,
        )

    return pointed_at("current_of") or pointed_at("candidate_of")
