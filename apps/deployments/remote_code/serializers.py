from typing import Any

from rest_framework import serializers

from apps.deployments.remote_code import examples
from apps.rest.examples import shown_as
from apps.rest.paging import page_schema
from apps.rest.serializers import StrictSerializer
from controlplane.domain.spec.choices import CheckpointSource

_SOURCES = [each.value for each in CheckpointSource]


@shown_as(examples.GRANT_WANTED)
class GrantBody(StrictSerializer):
    repo = serializers.CharField(max_length=2000, help_text="As the config names it.")
    commit = serializers.CharField(
        max_length=128, help_text="Whole, never a branch: a failure or a passport names it."
    )
    reason = serializers.CharField(
        max_length=1000, help_text="Why its code may run; kept with the grant."
    )

    def get_fields(self) -> dict[str, Any]:
        source = serializers.ChoiceField(choices=_SOURCES, help_text="Where it is fetched from.")
        return {"source": source, **super().get_fields()}


@shown_as(examples.REVOKE)
class RevokeBody(StrictSerializer):
    reason = serializers.CharField(
        max_length=1000, help_text="Why it may run no more; kept with the grant."
    )


class RunningObject(serializers.Serializer[Any]):
    deployment_id = serializers.CharField(source="id", help_text="The deployment.")
    deployment = serializers.CharField(source="name", help_text="Its name.")
    model = serializers.CharField(source="model.name", help_text="Name of its model.")
    team = serializers.CharField(source="model.team.name", help_text="Name of its team.")


@shown_as(examples.GRANT)
class GrantObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    repo = serializers.CharField(help_text="The checkpoint, as configs name it.")
    commit = serializers.CharField(help_text="The commit whose code may run.")
    reason = serializers.CharField(help_text="Why it may run.")
    is_live = serializers.SerializerMethodField(help_text="Whether it holds: it was not revoked.")
    granted_by = serializers.CharField(help_text="Who gave it.")
    created_at = serializers.DateTimeField()
    revoked_by = serializers.SerializerMethodField(
        help_text="Who revoked it; null where nobody did."
    )
    revoked_at = serializers.DateTimeField(
        allow_null=True, help_text="When; null where nobody did."
    )
    revoke_reason = serializers.SerializerMethodField(help_text="Why; null where nobody did.")
    running = RunningObject(
        many=True, help_text="Deployments that run this code now; a revocation stops none of them."
    )

    def get_fields(self) -> dict[str, Any]:
        source = serializers.ChoiceField(choices=_SOURCES, help_text="Where it is fetched from.")
        return {**super().get_fields(), "source": source}

    def get_is_live(self, grant: Any) -> bool:
        return grant.revoked_at is None

    def get_revoked_by(self, grant: Any) -> str | None:
        return grant.revoked_by or None

    def get_revoke_reason(self, grant: Any) -> str | None:
        return grant.revoke_reason or None


GrantPage = page_schema(GrantObject)
