"""Which repository may run its own Python, at which commit: granted, and perhaps revoked."""

from django.db import models

from apps.accounts.models import User
from apps.rest.identifiers import new_id
from controlplane.domain.remote_code import short_commit
from controlplane.stamps import StampField


class RemoteCodeGrant(models.Model):
    """One grant. It is written once, and revoked at most once; no grant is ever changed.

    It belongs to no team: what the code can reach on a machine serves them all.
    """

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    source = models.CharField(max_length=32)
    repo = models.CharField(max_length=2000)
    """As pages show it: without what a signed address carries."""
    commit = models.CharField(max_length=128)
    """Whole, as the source names a state of its files; never a branch."""
    reason = models.CharField(max_length=1000)
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    granted_by = models.CharField(max_length=300)
    """Who that was, also when the person is gone."""
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.CharField(max_length=300, blank=True)
    revoke_reason = models.CharField(max_length=1000, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["source", "repo", "commit"],
                condition=models.Q(revoked_at=None),
                name="configs_remote_code_granted_once",
            )
        ]
        indexes = [models.Index(fields=["commit"], name="configs_remote_code_by_commit")]

    @property
    def short_commit(self) -> str:
        return short_commit(self.commit)

    def __str__(self) -> str:
        return f"{self.source} {self.repo} at {self.commit}"
