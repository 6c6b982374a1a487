from typing import Any

from django import forms
from django.conf import settings

from apps.configs.calibration_sets.services.sets import checked_set_name
from apps.rest.errors import InvalidInput


class UploadForm(forms.Form):
    """A name and a file; the name of a set that is there makes its next version."""

    name = forms.CharField(
        max_length=100,
        widget=forms.TextInput(
            attrs={"placeholder": "support-chats", "spellcheck": "false", "autocomplete": "off"}
        ),
    )
    file = forms.FileField(
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".jsonl,.json,.parquet,.txt"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].widget.attrs["data-max-bytes"] = settings.CALIBRATION_MAX_BYTES

    def clean_name(self) -> str:
        try:
            return checked_set_name(self.cleaned_data["name"])
        except InvalidInput as error:
            raise forms.ValidationError(f"{error.message} {error.hint}") from error
