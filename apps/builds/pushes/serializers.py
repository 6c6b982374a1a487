from typing import Any

from rest_framework import serializers

from apps.builds import examples
from apps.builds.models import ArtifactPush
from apps.rest.examples import shown_as
from apps.rest.failure_object import FailureObject
from apps.rest.paging import page_schema
from apps.rest.serializers import StrictSerializer
from controlplane.domain.lifecycle import PushState
from controlplane.domain.push_destinations import FORMS, LONGEST_DESTINATION


@shown_as(examples.PUSH_WANTED)
class PushCreateBody(StrictSerializer):
    destination = serializers.CharField(
        max_length=LONGEST_DESTINATION, help_text=f"Where to: {FORMS}."
    )
    secret_name = serializers.CharField(
        max_length=253, help_text="The secret of the team that may write there."
    )
    private = serializers.BooleanField(
        default=True,
        help_text="Whether the repository is private: one that is made, and one that is there. "
        "Without effect on a bucket.",
    )


class PushProgressObject(serializers.Serializer[Any]):
    done_bytes = serializers.IntegerField(help_text="What is there by now.")
    total_bytes = serializers.IntegerField(
        source="artifact.size_bytes", help_text="The size of the artifact."
    )


class PushResultObject(serializers.Serializer[Any]):
    """Where the artifact is."""

    url = serializers.CharField(help_text="Its address there.")
    commit = serializers.CharField(
        required=False, help_text="The commit of a repository that has all of it."
    )
    sent_files = serializers.IntegerField(help_text="Files that were sent in the last attempt.")
    skipped_files = serializers.IntegerField(
        help_text="Files that were there already, by their digest."
    )


@shown_as(examples.PUSH)
class PushObject(serializers.Serializer[ArtifactPush]):
    """A push of an artifact to a repository or a bucket."""

    id = serializers.CharField()
    artifact_id = serializers.CharField(help_text="What is pushed.")
    destination = serializers.CharField(help_text="Where to.")
    secret_name = serializers.CharField(help_text="The secret that opens it.")
    private = serializers.BooleanField(help_text="Whether the repository is private.")
    state = serializers.ChoiceField(
        choices=[state.value for state in PushState],
        help_text="Where it is; `succeeded`, `failed` and `cancelled` are final.",
    )
    attempt = serializers.IntegerField(help_text="How often it has been started, from 1.")
    progress = PushProgressObject(source="*", help_text="How far it is.")
    result = PushResultObject(allow_null=True, help_text="Where it is now; null until it is.")
    failure = FailureObject(allow_null=True, help_text="Why it failed; null where it did not.")
    created_at = serializers.DateTimeField()
    created_by = serializers.EmailField(source="created_by.email", allow_null=True, default=None)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    cancel_requested_at = serializers.DateTimeField(
        allow_null=True, help_text="When someone asked to cancel it; null where nobody did."
    )


PushPage = page_schema(PushObject)
