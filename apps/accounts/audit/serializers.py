from typing import Any, ClassVar

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
        extra_kwargs: ClassVar = {
            "at": {"help_text": "When."},
            "actor_kind": {
                "help_text": "`person`, `key`, `nobody` (a failed sign-in) or `system`."
            },
            "actor_id": {"help_text": "Id of the person, or prefix of the key; blank for others."},
            "actor_label": {"help_text": "The address, or the key's prefix and its owner's."},
            "source": {"help_text": "`page`, `rest`, `command` or `worker`."},
            "address": {"help_text": "The network address that it came from; blank for none."},
            "action": {"help_text": "The kind of thing and what became of it: `secret.replace`."},
            "target_id": {"help_text": "Id of what it was done to."},
            "target_label": {"help_text": "Its name then."},
            "team_id": {"help_text": "The team; blank for the whole organisation."},
            "team_name": {"help_text": "Its name then."},
            "by_admin_rights": {
                "help_text": "Whether an admin of the organisation acted in a team of others."
            },
            "before": {"help_text": "What was changed, as it was; null where nothing was."},
            "after": {"help_text": "The same as it is now; never the value of a secret."},
        }

    target_kind = serializers.CharField(help_text="What kind of thing it was done to.")


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
    team_id = serializers.CharField(
        required=False, max_length=16, help_text="Only what was done in this team."
    )
    admin_rights = serializers.BooleanField(
        required=False,
        help_text="Only what was, or was not, done by rights of the organisation's admins.",
    )
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
