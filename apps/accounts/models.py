"""Who there is: teams, people, their sign-in links, their API keys, and the routes version."""

from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.db import models

from apps.rest.identifiers import new_id


class Team(models.Model):
    """The owner of configs, models, secrets and keys."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    name = models.CharField(max_length=64, unique=True)
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

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


class UserManager(BaseUserManager["User"]):
    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)


class User(AbstractBaseUser):
    """A person, known by an e-mail address."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=150, blank=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="members")
    is_admin = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()

    def __str__(self) -> str:
        return self.email


class SignInLink(models.Model):
    """A one-time way in; only its hash is kept."""

    token_sha256 = models.CharField(primary_key=True, max_length=64)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.user_id}"


class SignInFailure(models.Model):
    """A password that was wrong; counted for a quarter of an hour, then forgotten.

    The account is kept as a hash: people type passwords into the field for the address.
    """

    id = models.BigAutoField(primary_key=True)
    account_sha256 = models.CharField(max_length=64)
    address = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(
                fields=["account_sha256", "address", "at"], name="accounts_recent_failures"
            )
        ]

    def __str__(self) -> str:
        return f"failed sign-in from {self.address}"


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
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.prefix


class RoutesVersion(models.Model):
    """The single row whose `version` grows in every transaction that changes what gateways know.

    It lies down here because keys are the lowest thing that gateways hold a copy of.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    version = models.BigIntegerField(default=1)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="accounts_one_routes_row")
        ]

    def __str__(self) -> str:
        return str(self.version)
