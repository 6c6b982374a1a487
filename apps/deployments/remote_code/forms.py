from typing import Any

from django import forms

from controlplane.domain.spec.choices import CheckpointSource

_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


class GrantForm(forms.Form):
    source = forms.ChoiceField(choices=[(each.value, each.value) for each in CheckpointSource])
    repo = forms.CharField(
        max_length=2000, label="Repository", widget=forms.TextInput(attrs=_PLAIN)
    )
    commit = forms.CharField(
        max_length=128, label="Full commit", widget=forms.TextInput(attrs=_PLAIN)
    )
    reason = forms.CharField(max_length=1000, label="Reason")

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.fields}


class RevokeForm(forms.Form):
    reason = forms.CharField(max_length=1000, label="Reason for revoking")
