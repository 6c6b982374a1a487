from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import actor_on, allowed_page, page
from apps.accounts.permissions import Action, allowed
from apps.deployments.nodes.failed_starts import failed_starts_clear
from apps.deployments.nodes.removing import node_held, node_remove
from apps.deployments.nodes.selectors import builds_on, failed_on, replicas_on
from apps.fleet.models import Node
from apps.fleet.pools import pool_views
from apps.fleet.selectors import node_list
from apps.fleet.views import node_view
from apps.rest.errors import Conflict, NotFound
from apps.ui.fragments import live_answer


@page
@require_GET
def node(request: HttpRequest, node_id: str) -> HttpResponse:
    """Show a node; what runs of other teams there is counted, not named."""
    shown_node = _node(node_id)
    actor = actor_on(request)
    context = {
        "view": node_view(shown_node),
        "replicas": replicas_on(shown_node, actor),
        "builds": builds_on(shown_node),
        "failed": failed_on(shown_node, actor),
        "pools": pool_views(actor),
        "may_change": allowed(actor, Action.DRAIN),
        "held": node_held(node=shown_node).lines if allowed(actor, Action.REMOVE_NODES) else (),
    }
    return live_answer(request, page="fleet/node.html", part="fleet/_node.html", context=context)


@allowed_page(Action.CORDON)
@require_POST
def clear_failed_starts(request: HttpRequest, node_id: str) -> HttpResponse:
    node = _node(node_id)
    if failed_starts_clear(node=node):
        messages.success(request, f"`{node.name}` is tried like any other node again.")
    else:
        messages.info(request, f"No start failed on `{node.name}` lately.")
    return redirect("node_page", node.id)


@allowed_page(Action.REMOVE_NODES)
@require_POST
def remove(request: HttpRequest, node_id: str) -> HttpResponse:
    node = _node(node_id)
    if request.POST.get("name", "").strip() != node.name:
        raise Conflict("The typed name is not the node's. Nothing was removed.", fields=["name"])
    lines = node_remove(node=node).lines
    ended = f" It held: {'; '.join(lines)}." if lines else " It held nothing."
    messages.success(request, f"`{node.name}` is removed.{ended}")
    return redirect("fleet:list")


def _node(node_id: str) -> Node:
    node = node_list().filter(id=node_id).first()
    if node is None:
        raise NotFound(f"There is no node `{node_id}`.")
    return node
