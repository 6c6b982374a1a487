from django.db.models import QuerySet

from apps.fleet.models import Node


def labelled(nodes: QuerySet[Node], label: str) -> QuerySet[Node]:
    """Return those with the label, `name` of any value or `name=value`; all where it is empty."""
    name, is_exact, value = label.strip().partition("=")
    if not name:
        return nodes
    if is_exact:
        return nodes.filter(labels__contains={name.strip(): value.strip()})
    return nodes.filter(labels__has_key=name)
