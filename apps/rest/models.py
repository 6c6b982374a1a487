"""Requests that were sent with an idempotency key, and how they were answered."""

from django.db import models

from controlplane.stamps import StampField


class AnsweredRequest(models.Model):
    """One POST of one caller; `status` is null while it is being carried out.

    The body is kept as a keyed hash only, and an answer that shows a secret is not kept at all.
    """

    id = models.BigAutoField(primary_key=True)
    caller = models.CharField(max_length=40)
    key = models.CharField(max_length=255)
    request_hmac = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True)
    is_shown_once = models.BooleanField(default=False)
    started_at = StampField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["caller", "key"], name="rest_key_once_per_caller")
        ]
        indexes = [models.Index(fields=["started_at"], name="rest_answered_by_age")]

    def __str__(self) -> str:
        return self.key
