from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import actor_on, allowed_page, page
from apps.accounts.permissions import Action, allowed
from apps.accounts.selectors import team_list
from apps.fleet.labels import labelled
from apps.fleet.models import Device, Node
from apps.fleet.pools import pool_views
from apps.fleet.selectors import node_list
from apps.fleet.services.assigning import device_assign, node_label, pool_assign
from apps.fleet.services.placing import node_cordon, node_drain, node_uncordon, node_undrain
from apps.rest.errors import InvalidInput, NotFound
from apps.ui import formats
from apps.ui.fragments import live_answer
from apps.ui.listing import list_query_in, page_in, sorted_rows
from apps.ui.undo import say_undoable

NODES_SHOWN = 50
SORTS = {
    "name": "name",
    "pool": "pool",
    "memory": "host_memory_bytes",
    "heartbeat": "last_heartbeat_at",
}
_SORT_WORDS = {"name": "Name", "pool": "Pool", "memory": "Memory", "heartbeat": "Last heartbeat"}
FEW_NODES = 3
"""So many are shown unfolded; more are a line each."""


@dataclass(frozen=True, kw_only=True)
class NodeView:
    node: Node
    is_alive: bool
    devices: list[Device]

    @property
    def state(self) -> str:
        if not self.is_alive:
            return "silent"
        if self.node.draining_since is None:
            return "cordoned" if self.node.cordoned else "live"
        return "draining" if self.is_held else "drained"

    @property
    def is_held(self) -> bool:
        """Whether anything still runs there."""
        return any(device.live_leases for device in self.devices)  # type: ignore[attr-defined]

    @property
    def has_strangers(self) -> bool:
        """Whether someone else's process is on one of its GPUs."""
        return any(_has_strangers(device) for device in self.devices)

    @property
    def summary(self) -> str:
        """Its GPUs in one line: `8 × H100, 5 free; 412 GiB of 640 GiB used`."""
        kinds = Counter(device.kind for device in self.devices)
        free = Counter(device.kind for device in self.devices if _is_free(device))
        parts = [f"{many} × {kind}, {_free_words(free[kind])}" for kind, many in kinds.items()]
        known = [device.used_bytes for device in self.devices if device.used_bytes is not None]
        whole = formats.size(sum(device.memory_bytes for device in self.devices))
        used = [f"{formats.size(sum(known))} of {whole} used"] if known else []
        return "; ".join([*parts, *used]) or "no GPU is there"


def _has_strangers(device: Device) -> bool:
    if not device.live_leases:  # type: ignore[attr-defined]
        return bool(device.others)
    return any(user.is_foreign for user in device.users)


def _is_free(device: Device) -> bool:
    return not device.live_leases and not device.others  # type: ignore[attr-defined]


def _free_words(many: int) -> str:
    return f"{many} free" if many else "none free"


@page
@require_GET
def nodes(request: HttpRequest) -> HttpResponse:
    """Show every node; machines belong to the installation, not to a team."""
    label = request.GET.get("label", "").replace("\0", "")[:200]
    list_query = list_query_in(request, sorts=SORTS, keeps=["label"])
    rows = sorted_rows(labelled(node_list(), label), list_query.sort, SORTS, otherwise="name")
    shown = page_in(request, rows, NODES_SHOWN)
    actor = actor_on(request)
    may_assign = allowed(actor, Action.ASSIGN_DEVICES)
    context = {
        "nodes": [node_view(node) for node in shown],
        "are_few": len(shown) <= FEW_NODES,
        "page": shown,
        "label": label,
        "asked": list_query,
        "sorts": _SORT_WORDS.items(),
        "pools": pool_views(actor),
        "teams": team_list(actor) if may_assign else (),
        "may_assign": may_assign,
    }
    return live_answer(request, page="fleet/page.html", part="fleet/_nodes.html", context=context)


def node_view(node: Node) -> NodeView:
    return NodeView(
        node=node,
        is_alive=bool(node.is_alive),  # type: ignore[attr-defined]
        devices=[device for device in node.devices.all() if device.is_present],
    )


@allowed_page(Action.LABEL)
@require_POST
def label(request: HttpRequest, node_id: str) -> HttpResponse:
    node, name = _node(node_id), request.POST.get("name", "").strip()
    value = None if "remove" in request.POST else request.POST.get("value", "").strip()
    try:
        node_label(node=node, changes={name: value})
    except InvalidInput as error:
        raise InvalidInput(error.message, hint=error.hint, fields=["name", "value"]) from error
    return redirect("node_page", node.id)


@allowed_page(Action.CORDON)
@require_POST
def cordon(request: HttpRequest, node_id: str) -> HttpResponse:
    words = "takes nothing new; what runs there stays"
    return _changed(request, node_id, node_cordon, words, undo="uncordon")


@allowed_page(Action.CORDON)
@require_POST
def uncordon(request: HttpRequest, node_id: str) -> HttpResponse:
    return _changed(request, node_id, node_uncordon, "takes work again", undo="cordon")


@allowed_page(Action.DRAIN)
@require_POST
def drain(request: HttpRequest, node_id: str) -> HttpResponse:
    return _changed(request, node_id, node_drain, "is being drained")


@allowed_page(Action.DRAIN)
@require_POST
def undrain(request: HttpRequest, node_id: str) -> HttpResponse:
    return _changed(request, node_id, node_undrain, "keeps what it has, and stays cordoned")


@allowed_page(Action.ASSIGN_DEVICES)
@require_POST
def assign_devices(request: HttpRequest, node_id: str) -> HttpResponse:
    """Assign the node's GPUs to the pools that were written beside them.

    Only those that the person changed: another admin may have assigned others meanwhile.
    """
    node = _node(node_id)
    for device in node.devices.order_by("index"):
        pool, was = request.POST.get(device.id), request.POST.get(f"was-{device.id}")
        if pool is not None and pool.strip() != was:
            device_assign(device=device, pool=pool.strip(), expected=was)
    return redirect("node_page", node.id)


@allowed_page(Action.ASSIGN_DEVICES)
@require_POST
def assign_pool(request: HttpRequest) -> HttpResponse:
    ids = {*request.POST.getlist("teams")}
    teams = [team for team in team_list(actor_on(request)) if team.id in ids]
    if len(teams) != len(ids):
        raise InvalidInput("A team that was chosen is not there any more.")
    pool_assign(pool=request.POST.get("pool", "").strip(), teams=teams)
    return redirect("fleet:list")


def _changed(
    request: HttpRequest, node_id: str, change: Callable[..., bool], words: str, undo: str = ""
) -> HttpResponse:
    node = _node(node_id)
    is_changed = change(node=node)
    if is_changed and undo:
        path = reverse(f"fleet:{undo}", args=[node.id])
        say_undoable(request, f"`{node.name}` {words}.", path=path)
    elif is_changed:
        messages.success(request, f"`{node.name}` {words}.")
    else:
        messages.info(request, f"`{node.name}` was so already.")
    return redirect("node_page", node.id)


def _node(node_id: str) -> Node:
    node = Node.objects.filter(id=node_id, removed_at=None).first()
    if node is None:
        raise NotFound(f"There is no node `{node_id}`.")
    return node
