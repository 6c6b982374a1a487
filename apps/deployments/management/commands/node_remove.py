"""Take out a node that is gone for good."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.accounts.commands import AuditedCommand
from apps.deployments.nodes.removing import node_held, node_remove
from apps.fleet.selectors import node_list
from apps.rest.errors import ApiError


class Command(AuditedCommand):
    help = "Say what a node holds; with --yes remove it, which frees all of that."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--yes", action="store_true", help="remove it")

    def handle(self, *args: Any, name: str, yes: bool, **options: Any) -> None:
        node = node_list().filter(name=name).first()
        if node is None:
            raise CommandError(f"There is no node `{name}`.")
        try:
            held_by_node = node_remove(node=node) if yes else node_held(node=node)
        except ApiError as error:
            raise CommandError(f"{error} {error.hint or ''}".strip()) from None
        self.stdout.write(f"{name} {'held' if yes else 'holds'}:")
        self.stdout.write("\n".join(f"  {line}" for line in held_by_node.lines) or "  nothing")
        self.stdout.write("Removed." if yes else "Run it again with --yes to remove the node.")
