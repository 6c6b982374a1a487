"""What people type to store a secret."""

from django import forms

from apps.rest.errors import InvalidInput
from apps.secrets.names import checked_name
from apps.secrets.services.values import LONGEST_VALUE_BYTES


class SecretForm(forms.Form):
    """A name and a value; the value is taken as it stands, blanks included."""

    name = forms.CharField(
        max_length=253,
        widget=forms.TextInput(
            attrs={"placeholder": "hf_access_token", "spellcheck": "false", "autocomplete": "off"}
        ),
    )
    value = forms.CharField(
        strip=False,
        max_length=LONGEST_VALUE_BYTES,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean_name(self) -> str:
        """Return the name in the form in which it is kept."""
        try:
            return checked_name(self.cleaned_data["name"].strip())
        except InvalidInput as error:
            raise forms.ValidationError(f"{error.message} {error.hint}") from error
