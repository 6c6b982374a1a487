"""Where a deployment is called: through an environment that points at it, or by its own id."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from apps.deployments.models import Deployment
from apps.deployments.selectors import DEFAULT_PREDICT_ROUTE, predict_route
from controlplane.domain.facts.encoder_routes import EMBEDDINGS_ROUTE
from controlplane.domain.lifecycle import DEPLOYMENT_TERMINAL, DeploymentState

CHAT_ROUTE = DEFAULT_PREDICT_ROUTE
RERANK_ROUTE = "/rerank"
CLASSIFY_ROUTE = "/predict"
LABEL_ROUTE = "/predict_tokens"
CALLED_ROUTES = (CHAT_ROUTE, EMBEDDINGS_ROUTE, RERANK_ROUTE, CLASSIFY_ROUTE, LABEL_ROUTE)
"""What pages know how to ask at."""
GONE = DEPLOYMENT_TERMINAL - {DeploymentState.INACTIVE}
"""Neither answers nor can be woken."""


@dataclass(frozen=True, kw_only=True)
class Address:
    """One way to a deployment; without an environment its own."""

    deployment: Deployment
    environment: str = ""

    @property
    def place(self) -> str:
        """The part of the path that says where, the same in every address of ours."""
        if self.environment:
            return environment_place(self.deployment.model_id, self.environment)
        return f"{self.deployment.model_id}/deployment/{self.deployment.id}"

    @property
    def root(self) -> str:
        """What clients add the engine's own route to."""
        return f"{_gateway_url(self.place)}/sync"

    @property
    def route(self) -> str:
        return called_route(self.deployment)

    @property
    def needs_openai(self) -> bool:
        return self.route in (CHAT_ROUTE, EMBEDDINGS_ROUTE)

    @property
    def label(self) -> str:
        return self.environment or self.deployment.name


def addresses_of(deployment: Deployment) -> Sequence[Address]:
    places = sorted(place.name for place in deployment.current_of.all())
    return [
        *(Address(deployment=deployment, environment=name) for name in places),
        Address(deployment=deployment),
    ]


def environment_place(model_id: str, environment: str) -> str:
    return f"{model_id}/environments/{environment}"


def urls_of(place: str, deployment: Deployment | None) -> dict[str, str | None]:
    """Return where clients ask at that place; without a deployment nobody knows the route yet."""
    base = _gateway_url(place)
    return {
        "openai": f"{base}/sync/v1",
        "sync": f"{base}/sync",
        "predict": f"{base}/predict",
        "request": f"{base}/sync{called_route(deployment)}" if deployment else None,
    }


def _gateway_url(place: str) -> str:
    return f"{settings.GATEWAY_URL}/m/{place}"


def called_route(deployment: Deployment) -> str:
    """Return where the model is asked; a classifier with one label ranks."""
    route = predict_route(deployment)
    if route == CLASSIFY_ROUTE and (deployment.checkpoint or {}).get("labels") == 1:
        return RERANK_ROUTE
    return route if route in CALLED_ROUTES else CHAT_ROUTE
