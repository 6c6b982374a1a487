"""Grants over REST."""

from typing import Any

from rest_framework import serializers

from apps.deployments.remote_code import examples
from apps.rest.examples import shown_as
from apps.rest.paging import page_schema
from apps.rest.serializers import StrictSerializer
from controlplane.domain.spec.choices import CheckpointSource


@shown_as(examples.GRANT_WANTED)
class GrantBody(StrictSerializer):
    repo = serializers.CharField(max_length=2000, help_text="As the config names it.")
    commit = serializers.CharField(
        max_length=128, help_text="Whole, never a branch: a failure or a passport names it."
    )
    reason = serializers.CharField(max_length=1000)

    def get_fields(self) -> dict[str, Any]:
        source = serializers.ChoiceField(choices=[each.value for each in CheckpointSource])
        return {"source": source, **super().get_fields()}


@shown_as(examples.REVOKE)
class RevokeBody(StrictSerializer):
    reason = serializers.CharField(max_length=1000)


class RunningObject(serializers.Serializer[Any]):
    deployment_id = serializers.CharField(source="id")
    deployment = serializers.CharField(source="name")
    model = serializers.CharField(source="model.name")
    team = serializers.CharField(source="model.team.name")


@shown_as(examples.GRANT)
class GrantObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    repo = serializers.CharField()
    commit = serializers.CharField()
    reason = serializers.CharField()
    is_live = serializers.SerializerMethodField()
    granted_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    revoked_by = serializers.SerializerMethodField()
    revoked_at = serializers.DateTimeField(allow_null=True)
    revoke_reason = serializers.SerializerMethodField()
    running = RunningObject(
        many=True, help_text="Deployments that run this code now; a revocation stops none of them."
    )

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "source": serializers.CharField()}

    def get_is_live(self, grant: Any) -> bool:
        return grant.revoked_at is None

    def get_revoked_by(self, grant: Any) -> str | None:
        return grant.revoked_by or None

    def get_revoke_reason(self, grant: Any) -> str | None:
        return grant.revoke_reason or None


GrantPage = page_schema(GrantObject)
