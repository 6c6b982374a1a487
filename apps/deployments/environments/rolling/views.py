from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from apps.accounts.pages import actor_on, page, person
from apps.deployments.bodies import PromotionSettingsBody
from apps.deployments.environments.restrictions import require_environment
from apps.deployments.environments.rolling.commands import (
    promotion_cancel,
    promotion_force_cancel,
    promotion_force_forward,
    promotion_pause,
    promotion_resume,
)
from apps.deployments.environments.rolling.settings_form import settings_from_form
from apps.deployments.environments.services import environment_configure
from apps.deployments.environments.undo import say_move_undoable
from apps.deployments.selectors import environment_get
from apps.rest.errors import InvalidInput, NotFound
from controlplane.domain.rolling.roll import Status

_ACTIONS: Mapping[str, Callable[..., object]] = {
    "pause": promotion_pause,
    "resume": promotion_resume,
    "cancel": promotion_cancel,
    "force-cancel": promotion_force_cancel,
    "force-forward": promotion_force_forward,
}


@page
@require_POST
def moves(request: HttpRequest, model_id: str, name: str) -> HttpResponse:
    environment = environment_get(team=person(request).team, model_id=model_id, name=name)
    require_environment(actor_on(request), environment.name)
    settings = _checked(settings_from_form(request.POST, environment))
    environment_configure(environment=environment, promotion_settings=settings)
    return redirect("deployments:model", model_id)


def _checked(settings_from_form: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings as REST would take them. Raises InvalidInput."""
    body = PromotionSettingsBody(data=dict(settings_from_form))
    if not body.is_valid():
        wrong = _flat(body.errors)
        sentences = [f"`{name}`: {' '.join(map(str, each))}" for name, each in wrong.items()]
        raise InvalidInput(" ".join(sentences), fields=sorted(wrong))
    settings: Mapping[str, Any] = body.validated_data
    return settings


def _flat(errors: Mapping[str, Any]) -> dict[str, Any]:
    """Return them by the names of single fields, also of those within others."""
    flat: dict[str, Any] = {}
    for name, each in errors.items():
        flat |= each if isinstance(each, Mapping) else {name: each}
    return flat


@page
@require_POST
def promotion(request: HttpRequest, model_id: str, name: str, action: str) -> HttpResponse:
    act = _ACTIONS.get(action)
    if act is None:
        raise NotFound(f"There is no action `{action}` of a promotion.")
    environment = environment_get(team=person(request).team, model_id=model_id, name=name)
    require_environment(actor_on(request), environment.name)
    candidate_id = environment.candidate_id
    if act(environment=environment) is Status.CANCELED:
        words = f"`{name}` stays where it is: the promotion is cancelled."
        say_move_undoable(request, words, environment, candidate_id)
    return redirect("deployments:model", model_id)
