from django import forms


class DeployForm(forms.Form):
    model_name = forms.CharField(
        max_length=128,
        widget=forms.TextInput(
            attrs={
                "list": "model-names",
                "autocomplete": "off",
                "spellcheck": "false",
                "aria-describedby": "model-help",
            }
        ),
    )
    environment = forms.CharField(
        max_length=64,
        required=False,
        widget=forms.TextInput(
            attrs={
                "autocomplete": "off",
                "spellcheck": "false",
                "aria-describedby": "environment-help",
            }
        ),
    )
