"""What every row has that one worker at a time works on."""

from django.db import models


class Leased(models.Model):
    """Work that a worker holds while `lease_expires_at` is ahead of the database's clock.

    Each claim raises `lease_token`, and so does giving up on a holder; every write of a holder
    names its token: that of one who was replaced is refused.
    """

    lease_owner = models.CharField(max_length=128, blank=True, default="", db_default="")
    lease_token = models.PositiveIntegerField(default=0)
    lease_claims = models.PositiveIntegerField(default=0, db_default=0)
    """How often someone has begun it."""
    lease_expires_at = models.DateTimeField(null=True)
    lease_secret_sha256 = models.CharField(max_length=64, blank=True)
    """Whoever knows the secret behind it may redeem the secrets that the work needs."""

    class Meta:
        abstract = True
