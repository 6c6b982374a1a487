from django.db import models

from controlplane.stamps import StampField


class AuditEntry(models.Model):
    """One change that took place; the database refuses to change or delete it.

    Plain ids and labels instead of keys: an entry outlives what it tells of.
    """

    id = models.BigAutoField(primary_key=True)
    at = StampField(auto_now_add=True)
    actor_kind = models.CharField(max_length=16)
    """`person`, `key`, `nobody` (who failed to sign in) or `system`."""
    actor_id = models.CharField(max_length=16, blank=True)
    actor_label = models.CharField(max_length=300)
    """An address, or a key's prefix and its owner's address."""
    source = models.CharField(max_length=16)
    """`page`, `rest`, `command` or `worker`."""
    address = models.CharField(max_length=64, blank=True)
    action = models.CharField(max_length=64)
    """The kind of thing and what became of it: `secret.replace`."""
    target_id = models.CharField(max_length=64, blank=True)
    target_label = models.CharField(max_length=300, blank=True)
    team_id = models.CharField(max_length=16, blank=True)
    """Blank for what belongs to the whole organisation."""
    team_name = models.CharField(max_length=64, blank=True)
    by_admin_rights = models.BooleanField(default=False)
    """Whether an organisation admin acted where the admin is no member."""
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["team_id", "-at", "-id"], name="accounts_audit_by_team"),
            models.Index(fields=["-at", "-id"], name="accounts_audit_by_time"),
            models.Index(fields=["target_id", "-at"], name="accounts_audit_by_target"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_label}: {self.action} {self.target_label}"

    @property
    def target_kind(self) -> str:
        return self.action.partition(".")[0]
