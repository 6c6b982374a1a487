"""Named secrets: written, replaced, used by builds, never read back."""

from django.db import models

from apps.accounts.models import Team, User
from apps.rest.identifiers import new_id


class Secret(models.Model):
    """One encrypted value (AES-GCM); `key_id` names the key of the ring that sealed it."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=253)
    key_id = models.CharField(max_length=32)
    nonce = models.BinaryField(max_length=12)
    ciphertext = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    updated_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="secrets_name_unique_in_team")
        ]

    def __str__(self) -> str:
        return self.name
