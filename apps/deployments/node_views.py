"""The page of one node: its labels, its cards, what runs there, and how far a drain is."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import actor_on, allowed_page, page
from apps.accounts.permissions import Action, allowed
from apps.deployments.nodes import builds_on, failed_on, replicas_on
from apps.deployments.services import node_held, node_remove
from apps.fleet.pools import pool_views
from apps.fleet.selectors import node_list
from apps.fleet.views import node_view
from apps.rest.errors import Conflict, NotFound
from apps.ui.fragments import live_answer


@page
@require_GET
def node(request: HttpRequest, node_id: str) -> HttpResponse:
    """Show a node; what runs of other teams there is counted, not named."""
    found = node_list().filter(id=node_id).first()
    if found is None:
        raise NotFound(f"There is no node `{node_id}`.")
    actor = actor_on(request)
    context = {
        "view": node_view(found),
        "replicas": replicas_on(found, actor),
        "builds": builds_on(found),
        "failed": failed_on(found, actor),
        "pools": pool_views(actor),
        "may_change": allowed(actor, Action.DRAIN),
        "held": node_held(node=found).lines if allowed(actor, Action.REMOVE_NODES) else (),
    }
    return live_answer(request, page="fleet/node.html", part="fleet/_node.html", context=context)


@allowed_page(Action.REMOVE_NODES)
@require_POST
def remove(request: HttpRequest, node_id: str) -> HttpResponse:
    """Remove the node whose name was typed."""
    found = node_list().filter(id=node_id).first()
    if found is None:
        raise NotFound(f"There is no node `{node_id}`.")
    if request.POST.get("name", "").strip() != found.name:
        raise Conflict("The typed name is not the node's. Nothing was removed.")
    held = node_remove(node=found).lines
    ended = f" It held: {'; '.join(held)}." if held else " It held nothing."
    messages.success(request, f"`{found.name}` is removed.{ended}")
    return redirect("fleet:list")
