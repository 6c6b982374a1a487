"""Shapes of the audit trail."""

from typing import Any

from rest_framework import serializers

from apps.accounts import examples
from apps.accounts.models import AuditEntry
from apps.rest.examples import shown_as
from apps.rest.paging import PageQuery
from apps.rest.serializers import StrictSerializer


@shown_as(examples.AUDIT_ENTRY)
class AuditEntryObject(serializers.ModelSerializer[AuditEntry]):
    class Meta:
        model = AuditEntry
        fields = [
            "id",
            "at",
            "actor_kind",
            "actor_id",
            "actor_label",
            "source",
            "address",
            "action",
            "target_kind",
            "target_id",
            "target_label",
            "team_id",
            "team_name",
            "by_admin_rights",
            "before",
            "after",
        ]

    target_kind = serializers.CharField()


class AuditFilters(StrictSerializer):
    """Which entries; what is left out leaves all."""

    actor = serializers.CharField(
        required=False, max_length=300, help_text="Part of an address, or of a key's prefix."
    )
    action = serializers.CharField(
        required=False, max_length=64, help_text="Its beginning: `secret.` or `secret.replace`."
    )
    target = serializers.CharField(
        required=False, max_length=300, help_text="Part of a name, or a whole id."
    )
    team_id = serializers.CharField(required=False, max_length=16)
    admin_rights = serializers.BooleanField(required=False)
    to = serializers.DateTimeField(required=False, help_text="Before this moment.")

    def get_fields(self) -> dict[str, Any]:
        since = serializers.DateTimeField(required=False, help_text="From this moment on.")
        return {**super().get_fields(), "from": since}


class AuditQuery(AuditFilters, PageQuery):
    pass


class AuditExportQuery(AuditFilters):
    def get_fields(self) -> dict[str, Any]:
        kinds = serializers.ChoiceField(choices=["csv", "jsonl"], default="csv")
        return {**super().get_fields(), "as": kinds}
