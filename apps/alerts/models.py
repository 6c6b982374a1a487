"""Alerts, the channels that hear of them, and each message that was or will be sent."""

from enum import StrEnum

from django.db import models

from apps.accounts.models import Team, User
from apps.alerts.kinds import LABELS
from apps.leases.models import Leased
from apps.rest.identifiers import new_id
from controlplane.domain.lifecycle import StepState
from controlplane.stamps import StampField


class Severity(StrEnum):
    CRITICAL = "critical"
    """Requests fail, or will."""
    WARNING = "warning"


class AlertState(StrEnum):
    FIRING = "firing"
    RESOLVED = "resolved"


class Event(StrEnum):
    FIRING = "firing"
    RESOLVED = "resolved"
    TEST = "test"


class Alert(models.Model):
    """One cause, from the moment that it was seen until it has been gone for a while."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, related_name="alerts")
    """None for what all teams share, such as a node."""
    kind = models.CharField(max_length=32)
    subject = models.CharField(max_length=280)
    """What it is about: an id, or a name where two things of one kind cannot share it."""
    severity = models.CharField(max_length=16)
    sentence = models.TextField()
    """As it is now, or was at last: counts in it change."""
    hint = models.TextField(blank=True)
    path = models.CharField(max_length=500, blank=True)
    """The page where it is mended."""
    caused_by = models.CharField(max_length=320, blank=True)
    """`kind:subject` of the condition behind it; who hears of that one is not told of this."""
    began_at = models.DateTimeField()
    fired_at = models.DateTimeField()
    announced_at = models.DateTimeField(null=True)
    """When its message was written; none is of what was over before."""
    absent_since = models.DateTimeField(null=True)
    """Since when its condition no longer holds; it resolves if that stays so."""
    resolved_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "subject"],
                condition=models.Q(resolved_at=None),
                name="alerts_firing_once",
            )
        ]
        indexes = [models.Index(fields=["team", "-fired_at"], name="alerts_of_team")]

    def __str__(self) -> str:
        return self.id

    @property
    def state(self) -> AlertState:
        return AlertState.RESOLVED if self.resolved_at else AlertState.FIRING

    @property
    def label(self) -> str:
        return LABELS.get(self.kind, self.kind)

    @property
    def key(self) -> str:
        """Its kind and subject, as `caused_by` of others names it."""
        return f"{self.kind}:{self.subject}"


class AlertChannel(models.Model):
    """Where a team wants to hear of its alerts."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="alert_channels")
    name = models.CharField(max_length=100)
    form = models.CharField(max_length=16)
    target = models.CharField(max_length=2000, blank=True)
    """An address for a webhook, mailboxes for mail; blank for Slack, whose address is a secret."""
    secret_name = models.CharField(max_length=253, blank=True)
    """The team's secret that signs a webhook's messages, or that is Slack's address."""
    kinds = models.JSONField(default=list)
    """The kinds of alerts that it hears of; all where empty."""
    hears_installation = models.BooleanField(default=True)
    """Whether also of what all teams share."""
    is_paused = models.BooleanField(default=False)
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="alerts_channel_name_unique")
        ]

    def __str__(self) -> str:
        return self.name

    def hears(self, kind: str, team_id: str | None) -> bool:
        """Return whether it is told of an alert of that kind; a team of None is all teams'."""
        if self.is_paused or (self.kinds and kind not in self.kinds):
            return False
        return self.hears_installation if team_id is None else team_id == self.team_id


class AlertDelivery(Leased):
    """One message to one channel; alerts that fire in one look share it."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    channel = models.ForeignKey(AlertChannel, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=16)
    alerts = models.ManyToManyField(Alert, related_name="deliveries")
    state = models.CharField(max_length=16, default=StepState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True)
    """Not before then; at once where nothing is said."""
    sentence = models.TextField(blank=True)
    """Why the last attempt failed."""
    hint = models.TextField(blank=True)
    created_at = StampField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["channel", "-created_at"], name="alerts_deliveries")]

    def __str__(self) -> str:
        return self.id


class AlertLimits(models.Model):
    """From where on a team's traffic or cost is an alert; None for what is not watched."""

    team = models.OneToOneField(
        Team, on_delete=models.CASCADE, primary_key=True, related_name="alert_limits"
    )
    error_share_percent = models.FloatField(null=True, default=5.0)
    first_token_seconds = models.FloatField(null=True)
    monthly_budget = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    """What the team's GPUs may cost in a month before someone is told; it stops nothing."""
    spent = models.DecimalField(max_digits=16, decimal_places=4, default=0, db_default=0)
    """As measured last, in `spent_month`."""
    spent_month = models.DateField(null=True)
    updated_at = StampField(auto_now=True)

    def __str__(self) -> str:
        return str(self.team_id)


class AlertSweep(models.Model):
    """When someone last looked for what is wrong: one row, none before the first look."""

    id = models.PositiveSmallIntegerField(primary_key=True)
    looked_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"looked at {self.looked_at}"
