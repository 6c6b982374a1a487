from django.db import models

from apps.accounts.models import Team, User
from apps.leases.models import Leased
from apps.rest.identifiers import new_id
from controlplane.domain.lifecycle import StepState
from controlplane.stamps import StampField


class LookaheadTuning(Leased):
    """What lookahead settings would bring one revision, by the recorded answers of a set."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    revision = models.ForeignKey(
        "configs.Revision", on_delete=models.CASCADE, related_name="lookahead_tunings"
    )
    dataset = models.CharField(max_length=512)
    requests = models.PositiveIntegerField()
    """How many are asked at once, as the recommendation takes it."""
    pool = models.CharField(max_length=64)
    # Without choices in the column, or every new state makes a migration.
    state = models.CharField(max_length=16, default=StepState.WAITING)
    progress_done = models.PositiveIntegerField(default=0)
    progress_total = models.PositiveIntegerField(null=True)
    progress_unit = models.CharField(max_length=16, blank=True)
    result = models.JSONField(null=True)
    failure = models.JSONField(null=True)
    gathers_from = models.JSONField(null=True)
    """The ids of gateways that replay their samples; null where a build worker replays a set."""
    figures = models.JSONField(null=True)
    """By gateway, what it found in its samples, or why it found nothing."""
    cancel_requested_at = models.DateTimeField(null=True)
    made_revision = models.ForeignKey(
        "configs.Revision", on_delete=models.SET_NULL, null=True, related_name="made_by_tunings"
    )
    """The revision that has the recommended setting."""
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["state"], name="configs_tuning_by_state")]

    def __str__(self) -> str:
        return f"tuning on {self.dataset}"

    @property
    def is_open(self) -> bool:
        return self.state in (StepState.WAITING, StepState.RUNNING)
