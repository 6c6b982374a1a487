"""The owners of everything: teams, who belongs to them, and the environments they restrict."""

from django.conf import settings
from django.db import models

from apps.accounts.models.normal_email_field import NormalEmailField
from apps.rest.identifiers import new_id
from controlplane.stamps import StampField


class Team(models.Model):
    """The owner of configs, models, secrets and keys."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    name = models.CharField(max_length=64, unique=True)
    is_default = models.BooleanField(default=False)
    created_at = StampField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"],
                condition=models.Q(is_default=True),
                name="accounts_one_default_team",
            )
        ]

    def __str__(self) -> str:
        return self.name


class TeamRole(models.TextChoices):
    ADMIN = "admin"
    MEMBER = "member"


class Membership(models.Model):
    id = models.BigAutoField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    # Without choices in the column, or every new role makes a migration.
    role = models.CharField(max_length=16, default=TeamRole.MEMBER)
    created_at = StampField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="accounts_member_once")
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.team_id}"


class RestrictedEnvironment(models.Model):
    """A name of environments that only some may change, in all models of the team.

    Without access one still sees, calls, and reads logs and metrics (baseten.md section 8).
    """

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="restricted_environments")
    name = models.CharField(max_length=64)
    people = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="+")
    created_at = StampField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="accounts_restricted_once")
        ]

    def __str__(self) -> str:
        return self.name


class Invitation(models.Model):
    """A one-time way into a team for an address; only the hash of its token is kept."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    token_sha256 = models.CharField(max_length=64, unique=True)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField()
    normal_email = NormalEmailField(null=True)
    role = models.CharField(max_length=16, default=TeamRole.MEMBER)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = StampField(auto_now_add=True)
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    """When it was accepted or withdrawn."""

    def __str__(self) -> str:
        return f"invitation to {self.team_id}"
