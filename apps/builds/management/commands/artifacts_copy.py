"""`manage.py artifacts_copy FROM TO`: the artifacts of one store into another."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.ui import formats
from controlplane.artifacts import ArtifactFailure, ArtifactStore
from controlplane.artifacts.copying import copy_artifacts


class Command(BaseCommand):
    help = (
        "Copy artifacts and calibration data from one store to another, such as from "
        "file:///srv/enginehouse/artifacts to s3://enginehouse/artifacts. What has arrived is "
        "skipped, so run it again until nothing is new, then set ARTIFACT_URL. The bucket is "
        "opened by the AWS_ variables; see docs/operations.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", metavar="FROM", help="an ARTIFACT_URL")
        parser.add_argument("target", metavar="TO", help="another one")
        parser.add_argument(
            "--verify",
            action="store_true",
            help="also read back all that TO had before, and replace what is damaged there",
        )

    def handle(self, *args: Any, source: str, target: str, verify: bool, **options: Any) -> None:
        try:
            self._copy(source.rstrip("/"), target.rstrip("/"), verify)
        except ArtifactFailure as failed:
            raise CommandError(f"{failed} {failed.failure.hint or ''}".rstrip()) from failed

    def _copy(self, source: str, target: str, verifies: bool) -> None:
        if source == target:
            raise CommandError(f"`{source}` is both FROM and TO.")
        stores = ArtifactStore.open(source), ArtifactStore.open(target)
        new = there = new_bytes = 0
        for each in copy_artifacts(*stores, settings.DATA_DIR, verifies=verifies):
            there, new = there + each.was_there, new + (not each.was_there)
            if not each.was_there:
                new_bytes += each.size_bytes
                self.stdout.write(f"{each.content_digest} {formats.size(each.size_bytes)}")
        self.stdout.write(f"{new} copied ({formats.size(new_bytes)}), {there} were there.")
