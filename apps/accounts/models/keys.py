from django.db import models

from apps.accounts.models.people import User
from apps.accounts.models.teams import Team
from apps.rest.identifiers import new_id
from controlplane.stamps import StampField


class ApiKeyType(models.TextChoices):
    """The hosted product's key types (management API, 2026-08-22)."""

    PERSONAL = "PERSONAL"
    WORKSPACE_MANAGE_ALL = "WORKSPACE_MANAGE_ALL"
    WORKSPACE_EXPORT_METRICS = "WORKSPACE_EXPORT_METRICS"
    WORKSPACE_INVOKE = "WORKSPACE_INVOKE"


class ApiKey(models.Model):
    """A key of 256 random bits, shown once; `secret_sha256` is the hash of the whole key."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    prefix = models.CharField(max_length=8, unique=True)
    secret_sha256 = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=64, blank=True)
    # Without choices in the column, or every new type makes a migration.
    type = models.CharField(max_length=40)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="api_keys")
    owner = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="api_keys")
    model_ids = models.JSONField(null=True)
    environments = models.JSONField(null=True)
    requests_per_minute = models.PositiveIntegerField(null=True)
    tokens_per_minute = models.PositiveIntegerField(null=True)
    parallel_requests = models.PositiveIntegerField(null=True)
    monthly_spend = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    spent_until = models.DateTimeField(null=True)
    """Until when gateways answer 402, since the month's spend is used up."""
    live_spend = models.JSONField(null=True)
    """From what gateways count its spend on, as it was measured last."""
    traffic_mark = models.CharField(max_length=16, blank=True, default="", db_default="")
    """What its requests are marked as: `benchmark`, `async`, or nothing for traffic that counts."""
    created_at = StampField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.prefix
