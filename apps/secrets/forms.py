from datetime import UTC, datetime, time
from typing import Any

from django import forms

from apps.rest.errors import InvalidInput
from apps.secrets.names import checked_name
from apps.secrets.services.values import LONGEST_VALUE_BYTES
from controlplane import clock


class ExpiryField(forms.DateField):
    """A day, as the moment in which it begins (UTC)."""

    def __init__(self) -> None:
        super().__init__(
            required=False, label="Expires", widget=forms.DateInput(attrs={"type": "date"})
        )

    def clean(self, value: Any) -> datetime | None:
        """Return the moment, or None where nothing was chosen. Raises ValidationError."""
        day = super().clean(value)
        if day is None:
            return None
        moment = datetime.combine(day, time.min, tzinfo=UTC)
        if moment <= clock.now():
            raise forms.ValidationError("This day is over, or is today.")
        return moment


class ExpiryForm(forms.Form):
    expires_at = ExpiryField()


class SecretForm(forms.Form):
    """A name and a value; the value is taken as it stands, blanks included."""

    name = forms.CharField(
        max_length=253,
        widget=forms.TextInput(
            attrs={
                "placeholder": "hf_access_token",
                "spellcheck": "false",
                "autocomplete": "off",
                # Refused before it is sent: an answer would come back without the value.
                "pattern": "[\\-._a-zA-Z0-9]{1,253}",
                "title": "1 to 253 letters, digits, -, _ and .",
            }
        ),
    )
    value = forms.CharField(
        strip=False,
        max_length=LONGEST_VALUE_BYTES,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    expires_at = ExpiryField()

    def clean_name(self) -> str:
        try:
            return checked_name(self.cleaned_data["name"].strip())
        except InvalidInput as error:
            raise forms.ValidationError(f"{error.message} {error.hint}") from error
