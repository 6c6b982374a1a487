"""What people type to sign in and to make a key."""

from typing import Any

from django import forms

from apps.accounts.models import ApiKeyType, TeamRole

KEY_TYPES = {
    ApiKeyType.WORKSPACE_INVOKE: "call models",
    ApiKeyType.WORKSPACE_MANAGE_ALL: "manage and call everything",
    ApiKeyType.WORKSPACE_EXPORT_METRICS: "read metrics",
    ApiKeyType.PERSONAL: "do what I may",
}


class SignInForm(forms.Form):
    """An e-mail address and a password."""

    email = forms.EmailField(
        widget=forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True})
    )
    password = forms.CharField(
        strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class ApiKeyForm(forms.Form):
    """A name to know the key by, and what it may do."""

    name = forms.CharField(max_length=64)
    type = forms.ChoiceField(choices=tuple(KEY_TYPES.items()))


class InvitationForm(forms.Form):
    """Whom to invite, and as what."""

    email = forms.EmailField(label="E-mail address", max_length=254)
    role = forms.ChoiceField(
        label="As", choices=((TeamRole.MEMBER, "a member"), (TeamRole.ADMIN, "a team admin"))
    )


class TeamForm(forms.Form):
    """What a team is called."""

    name = forms.CharField(max_length=64)


class JoinForm(forms.Form):
    """What a new person is called, and a password."""

    name = forms.CharField(
        max_length=150, required=False, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 12 characters.",
    )


class AuditForm(forms.Form):
    """Which entries of the audit trail to show."""

    actor = forms.CharField(label="Who", required=False, max_length=300)
    action = forms.CharField(label="Did", required=False, max_length=64)
    target = forms.CharField(label="To what", required=False, max_length=300)
    since = forms.DateTimeField(
        label="From", required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    until = forms.DateTimeField(
        label="Before", required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    admin_rights = forms.BooleanField(label="By rights of an organisation admin", required=False)

    def filters(self) -> dict[str, Any]:
        """Return what is valid of it, by the names of the trail's filters."""
        self.is_valid()
        names = {"since": "from", "until": "to"}
        return {names.get(name, name): value for name, value in self.cleaned_data.items()}
