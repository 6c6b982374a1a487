"""Who there is, and the ways in."""

from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.db import models

from apps.accounts.models.normal_email_field import NormalEmailField
from apps.accounts.models.teams import Team
from apps.accounts.people.emails import normal_email
from apps.rest.identifiers import new_id
from controlplane.stamps import StampField


class UserManager(BaseUserManager["User"]):
    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(normal_email=normal_email(username or ""))


class User(AbstractBaseUser):
    """A person, known by an e-mail address."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    email = models.EmailField(unique=True)
    """As it was written."""
    # Null in rows of processes of the release before; the next release requires it.
    normal_email = NormalEmailField(unique=True, null=True)
    """What the person is looked up and counted by."""
    name = models.CharField(max_length=150, blank=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="present")
    """Where the person works now: one of the own teams, or any for an organisation admin."""
    is_admin = models.BooleanField(default=False)
    """Whether an organisation admin, who is implicitly an admin of every team."""
    is_active = models.BooleanField(default=True)
    created_at = StampField(auto_now_add=True)
    first_steps_hidden_at = models.DateTimeField(null=True)
    """When the person took the list of first steps off the overview."""

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()

    def __str__(self) -> str:
        return self.email


class SingleSignOn(models.Model):
    """The account of a provider that signs a person in: who it is there, whatever its address."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="single_sign_ons")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    created_at = StampField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="accounts_subject_once"),
            models.UniqueConstraint(fields=["issuer", "user"], name="accounts_joined_once"),
        ]

    def __str__(self) -> str:
        return f"single sign-on of {self.user_id}"


class SignInLink(models.Model):
    """A one-time way in; only its hash is kept."""

    token_sha256 = models.CharField(primary_key=True, max_length=64)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    created_at = StampField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.user_id}"


class BrowserSession(models.Model):
    """A browser in which someone is signed in; it goes with the session of that hash."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="browser_sessions")
    session_key = models.CharField(max_length=40, unique=True)
    """What the session is kept under: the hash of its key."""
    address = models.CharField(max_length=64, blank=True)
    user_agent = models.CharField(max_length=300, blank=True)
    way = models.CharField(max_length=16)
    """`password`, `link` or `oidc`."""
    created_at = StampField(auto_now_add=True)

    def __str__(self) -> str:
        return f"browser of {self.user_id}"
