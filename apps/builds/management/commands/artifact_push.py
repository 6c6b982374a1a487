"""`manage.py artifact_push ARTIFACT DESTINATION --secret NAME`: an artifact to a hub or bucket."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.accounts.commands import AuditedCommand
from apps.builds.models import Artifact
from apps.builds.pushes.requests import push_request
from apps.rest.errors import ApiError
from controlplane.domain.push_destinations import FORMS


class Command(AuditedCommand):
    help = (
        f"Queue a push of an artifact to {FORMS}. A build worker carries it out; how far it is "
        "stands on the artifact's page."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("artifact", help="the artifact's identifier")
        parser.add_argument("destination", help=FORMS)
        parser.add_argument(
            "--secret", required=True, help="name of a secret of its team that may write there"
        )
        parser.add_argument(
            "--public", action="store_true", help="make a repository that all may read"
        )

    def handle(
        self, *args: Any, artifact: str, destination: str, secret: str, public: bool, **options: Any
    ) -> None:
        row = Artifact.objects.select_related("team").filter(id=artifact).first()
        if row is None:
            raise CommandError(f"There is no artifact `{artifact}`.")
        try:
            push = push_request(
                artifact=row, destination=destination, secret_name=secret, private=not public
            )
        except ApiError as error:
            raise CommandError(f"{error.message} {error.hint or ''}".strip()) from error
        self.stdout.write(f"Push {push.id} of artifact {row.id} is {push.state}.")
