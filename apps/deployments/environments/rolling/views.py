"""What a person asks of a promotion on its page."""

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from apps.accounts.pages import actor_on, page, person
from apps.deployments.environments.restrictions import require_environment
from apps.deployments.environments.rolling.commands import (
    promotion_cancel,
    promotion_force_cancel,
    promotion_force_forward,
    promotion_pause,
    promotion_resume,
)
from apps.deployments.selectors import environment_get
from apps.rest.errors import NotFound

_ACTIONS: Mapping[str, Callable[..., object]] = {
    "pause": promotion_pause,
    "resume": promotion_resume,
    "cancel": promotion_cancel,
    "force-cancel": promotion_force_cancel,
    "force-forward": promotion_force_forward,
}


@page
@require_POST
def promotion(request: HttpRequest, model_id: str, name: str, action: str) -> HttpResponse:
    """Pause, resume, cancel or force the promotion to an environment."""
    act = _ACTIONS.get(action)
    if act is None:
        raise NotFound(f"There is no action `{action}` of a promotion.")
    found = environment_get(team=person(request).team, model_id=model_id, name=name)
    require_environment(actor_on(request), found.name)
    act(environment=found)
    return redirect("deployments:model", model_id)
