from typing import Any

from django import forms

from apps.alerts.channels.checks import LONGEST_NAME, LONGEST_TARGET
from apps.alerts.kinds import ALERT_KINDS
from controlplane.domain.notifications import ChannelForm as Form

_LABELS = {Form.WEBHOOK: "Webhook", Form.SLACK: "Slack", Form.MAIL: "Mail"}


class LimitsForm(forms.Form):
    """From where on traffic or cost is an alert; empty: not watched."""

    error_share_percent = forms.FloatField(required=False, min_value=0, max_value=100)
    first_token_seconds = forms.FloatField(required=False, min_value=0.001, max_value=3600)
    monthly_budget = forms.DecimalField(
        required=False, min_value=0, max_digits=12, decimal_places=2
    )


class ChannelForm(forms.Form):
    """A channel as its page asks for it; the services check what belongs together."""

    name = forms.CharField(max_length=LONGEST_NAME)
    form = forms.ChoiceField(choices=[(each.value, _LABELS[each]) for each in Form], label="Type")
    target = forms.CharField(
        required=False,
        max_length=LONGEST_TARGET,
        label="Address or mailboxes",
        widget=forms.TextInput(attrs={"placeholder": "https://… or oncall@example.com"}),
    )
    secret_name = forms.ChoiceField(required=False, label="Secret")
    kinds = forms.MultipleChoiceField(
        required=False,
        choices=[(each.name.value, each.label) for each in ALERT_KINDS],
        widget=forms.CheckboxSelectMultiple,
    )
    hears_installation = forms.BooleanField(required=False, initial=True)
    is_paused = forms.BooleanField(required=False)

    def __init__(self, *args: Any, secret_names: list[str], **more: Any) -> None:
        super().__init__(*args, **more)
        choices = [("", "none"), *((name, name) for name in secret_names)]
        self.fields["secret_name"] = forms.ChoiceField(
            required=False, label="Secret", choices=choices
        )
