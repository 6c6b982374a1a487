"""The page of nodes: which machines there are, their cards, and who holds them."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from apps.accounts.pages import page
from apps.fleet.models import Card, Node
from apps.fleet.selectors import node_list
from apps.ui.fragments import live_answer
from apps.ui.listing import page_in

NODES_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class NodeView:
    """A node with its cards and its state in one word."""

    node: Node
    is_alive: bool
    cards: list[Card]

    @property
    def state(self) -> str:
        if not self.is_alive:
            return "silent"
        return "cordoned" if self.node.cordoned else "live"


@page
@require_GET
def nodes(request: HttpRequest) -> HttpResponse:
    """Show every node; machines belong to the installation, not to a team."""
    shown = page_in(request, node_list(), NODES_SHOWN)
    views = [
        NodeView(
            node=node,
            is_alive=bool(node.is_alive),  # type: ignore[attr-defined]
            cards=[card for card in node.cards.all() if card.is_present],
        )
        for node in shown
    ]
    return live_answer(
        request,
        page="fleet/page.html",
        part="fleet/_nodes.html",
        context={"nodes": views, "page": shown},
    )
