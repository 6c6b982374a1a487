"""Sets of calibration data with their versions, and previews that a build worker makes."""

from django.db import models

from apps.accounts.models import Team, User
from apps.leases.models import Leased
from apps.rest.identifiers import new_id
from controlplane.domain.lifecycle import StepState
from controlplane.stamps import StampField


class CalibrationSet(models.Model):
    """A named set of a team; each upload under its name is a new version."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="calibration_sets")
    name = models.CharField(max_length=64)
    created_at = StampField(auto_now_add=True)
    updated_at = StampField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name"], name="configs_calibration_set_unique_in_team"
            )
        ]

    def __str__(self) -> str:
        return self.name


class CalibrationVersion(models.Model):
    """One upload. The artifact store has its file, under `content_digest`."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    set = models.ForeignKey(CalibrationSet, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=80)
    """Of the file as builds read it: the revision in passports."""
    content_digest = models.CharField(max_length=80)
    file_name = models.CharField(max_length=64)
    """Its name in the store."""
    uploaded_name = models.CharField(max_length=255)
    column = models.CharField(max_length=16)
    rows = models.PositiveIntegerField()
    empty_rows = models.PositiveIntegerField()
    short_rows = models.PositiveIntegerField()
    size_bytes = models.BigIntegerField()
    head = models.JSONField()
    """The beginnings of the first rows."""
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["set", "number"], name="configs_calibration_version_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.set_id}@{self.number}"

    @property
    def usable_rows(self) -> int:
        return self.rows - self.empty_rows


class CalibrationPreview(Leased):
    """The first samples of some data as one revision's model will see them."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    revision = models.ForeignKey(
        "configs.Revision", on_delete=models.CASCADE, related_name="calibration_previews"
    )
    dataset = models.CharField(max_length=512)
    pool = models.CharField(max_length=64)
    # Without choices in the column, or every new state makes a migration.
    state = models.CharField(max_length=16, default=StepState.WAITING)
    result = models.JSONField(null=True)
    failure = models.JSONField(null=True)
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["state"], name="configs_preview_by_state")]

    def __str__(self) -> str:
        return f"preview of {self.dataset}"
