"""Named secrets: written, replaced, used by builds, never read back; and tests of them."""

from django.db import models

from apps.accounts.models import Team, User
from apps.leases.models import Leased
from apps.rest.identifiers import new_id
from controlplane.domain.lifecycle import StepState
from controlplane.stamps import StampField


class Secret(models.Model):
    """One encrypted value (AES-GCM); `key_id` names the key of the ring that sealed it."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=253)
    key_id = models.CharField(max_length=32)
    nonce = models.BinaryField(max_length=12)
    ciphertext = models.BinaryField()
    created_at = StampField(auto_now_add=True)
    updated_at = StampField(auto_now=True)
    updated_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    last_used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    """When the value stops working, as whoever stored it says."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="secrets_name_unique_in_team")
        ]

    def __str__(self) -> str:
        return self.name


class SecretTest(Leased):
    """One try of a secret on what it should open, made by a worker."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    secret = models.ForeignKey(Secret, on_delete=models.CASCADE, related_name="tests")
    kind = models.CharField(max_length=16)
    target = models.CharField(max_length=2000)
    state = models.CharField(max_length=16, default=StepState.WAITING)
    works = models.BooleanField(null=True)
    """None until it is known."""
    sentence = models.TextField(blank=True)
    hint = models.TextField(blank=True)
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["secret", "-created_at"], name="secrets_tests_of_secret")]

    def __str__(self) -> str:
        return self.id
