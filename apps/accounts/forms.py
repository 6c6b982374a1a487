from typing import Any

from django import forms

from apps.accounts.models import ApiKeyType, TeamRole
from apps.accounts.people.emails import LONGEST_EMAIL, checked_email
from apps.rest.errors import InvalidInput

KEY_TYPES = {
    ApiKeyType.WORKSPACE_INVOKE: "call models",
    ApiKeyType.WORKSPACE_MANAGE_ALL: "manage and call everything",
    ApiKeyType.WORKSPACE_EXPORT_METRICS: "read metrics",
    ApiKeyType.PERSONAL: "same as my role",
}


class EmailField(forms.CharField):
    """An address that may be stored."""

    widget = forms.TextInput(attrs={"inputmode": "email"})

    def clean(self, value: Any) -> str:
        """Return the address as it was written. Raises ValidationError."""
        written = super().clean(value)
        try:
            return checked_email(written)
        except InvalidInput as error:
            raise forms.ValidationError(f"{error.message} {error.hint or ''}".strip()) from error


class SignInForm(forms.Form):
    # Any text: what is no address has no account, and a browser may not judge another alphabet.
    email = forms.CharField(
        max_length=LONGEST_EMAIL,
        widget=forms.TextInput(
            attrs={"autocomplete": "username", "autofocus": True, "inputmode": "email"}
        ),
    )
    password = forms.CharField(
        strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


def _limit(label: str) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=1, max_value=2_000_000_000)


class ApiKeyForm(forms.Form):
    name = forms.CharField(max_length=64)
    type = forms.ChoiceField(choices=tuple(KEY_TYPES.items()))
    environments = forms.CharField(
        label="Environments",
        required=False,
        max_length=1000,
        help_text="Names with spaces between; for keys that call models or read metrics.",
    )
    model_ids = forms.CharField(
        label="Models",
        required=False,
        max_length=1000,
        help_text="Their ids with spaces between; for keys that call models or read metrics.",
    )
    expires_at = forms.DateTimeField(
        label="Expires (UTC)",
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )
    requests_per_minute = _limit("Requests a minute")
    tokens_per_minute = _limit("Tokens a minute")
    parallel_requests = _limit("Requests at a time")
    monthly_spend = forms.DecimalField(
        label="Spend per month", required=False, min_value=0, max_digits=12, decimal_places=2
    )

    def limit_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in ("name", "type")]

    def clean_environments(self) -> list[str] | None:
        return self.cleaned_data["environments"].split() or None

    def clean_model_ids(self) -> list[str] | None:
        return self.cleaned_data["model_ids"].split() or None


class InvitationForm(forms.Form):
    email = EmailField(label="E-mail address")
    role = forms.ChoiceField(
        label="Role", choices=((TeamRole.MEMBER, "member"), (TeamRole.ADMIN, "team admin"))
    )


class TeamForm(forms.Form):
    name = forms.CharField(max_length=64)


class JoinForm(forms.Form):
    name = forms.CharField(
        max_length=150, required=False, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 12 characters.",
    )


class AuditForm(forms.Form):
    actor = forms.CharField(label="Actor", required=False, max_length=300)
    action = forms.CharField(label="Action", required=False, max_length=64)
    target = forms.CharField(label="Target", required=False, max_length=300)
    since = forms.DateTimeField(
        label="From", required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    until = forms.DateTimeField(
        label="Before", required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    admin_rights = forms.BooleanField(label="Used organisation admin rights", required=False)

    def filters(self) -> dict[str, Any]:
        """Return what is valid of it, by the names of the trail's filters."""
        self.is_valid()
        names = {"since": "from", "until": "to"}
        return {names.get(name, name): value for name, value in self.cleaned_data.items()}
