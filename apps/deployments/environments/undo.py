from django.http import HttpRequest
from django.urls import reverse

from apps.deployments.models import Environment
from apps.ui.undo import say_undoable


def say_move_undoable(
    request: HttpRequest, words: str, place: Environment, deployment_id: str | None
) -> None:
    """Say it; its Undo promotes the deployment there."""
    path = reverse("deployments:promote", args=[place.model_id, deployment_id])
    say_undoable(request, words, path=path, fields={"environment": place.name})
