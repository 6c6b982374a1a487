from typing import Any, cast

from django import forms

from apps.deployments.models import Deployment
from controlplane.domain.benchmarks.order import Limits, Load, LoadKind
from controlplane.domain.benchmarks.shapes import SHAPES

_LOADS = (
    ("concurrency", "Requests at a time"),
    ("rate", "Requests a second"),
    ("ramp_concurrency", "Ramp of requests at a time"),
    ("ramp_rate", "Ramp of requests a second"),
)


_GROUPS = (
    ("What is measured", ("deployment", "beside", "name")),
    ("Load", ("load", "levels", "seconds", "warm_up_seconds")),
    ("Limits", ("error_percent", "first_token_p90_seconds", "inter_token_p90_seconds")),
    ("Requests", ("shape", "prompt_tokens", "completion_tokens", "seed", "samples_jsonl")),
)


class BenchmarkForm(forms.Form):
    """A run; the services check what belongs together."""

    deployment = forms.ChoiceField()
    beside = forms.ChoiceField(required=False, label="Compare with")
    shape = forms.ChoiceField(choices=[(each.name, each.label) for each in SHAPES.values()])
    load = forms.ChoiceField(choices=_LOADS)
    levels = forms.CharField(max_length=100, initial="1, 8, 64")
    seconds = forms.FloatField(min_value=1, max_value=600, initial=30, label="Seconds a level")
    warm_up_seconds = forms.FloatField(min_value=0, max_value=120, initial=5, label="Warm-up (s)")
    error_percent = forms.FloatField(
        required=False, min_value=0.0001, max_value=100, label="Errors at most (%)"
    )
    first_token_p90_seconds = forms.FloatField(
        required=False, min_value=0.000001, max_value=3600, label="p90 first token at most (s)"
    )
    inter_token_p90_seconds = forms.FloatField(
        required=False, min_value=0.000001, max_value=3600, label="p90 inter-token at most (s)"
    )
    prompt_tokens = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)
    completion_tokens = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)
    samples_jsonl = forms.CharField(
        required=False, widget=forms.Textarea(attrs={"rows": 4}), label="Own requests (JSONL)"
    )
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, initial=0)
    name = forms.CharField(required=False, max_length=100, label="Name (optional)")

    def __init__(self, *args: Any, deployments: list[Deployment], **more: Any) -> None:
        super().__init__(*args, **more)
        choices = [(each.id, f"{each.model.name}, {each.name}") for each in deployments]
        self.fields["deployment"] = forms.ChoiceField(choices=choices)
        beside = forms.ChoiceField(
            required=False, choices=[("", "nothing"), *choices], label="Compare with"
        )
        self.fields["beside"] = beside

    @property
    def has_deployments(self) -> bool:
        return bool(cast("forms.ChoiceField", self.fields["deployment"]).choices)

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [(title, [self[name] for name in names]) for title, names in _GROUPS]

    def clean_levels(self) -> tuple[float, ...]:
        text: str = self.cleaned_data["levels"]
        try:
            return tuple(float(each) for each in text.replace(",", " ").split())
        except ValueError:
            raise forms.ValidationError(
                f"`{text}` is no list of numbers; write for example `1, 8, 64`."
            ) from None

    def wanted(self) -> dict[str, Any]:
        data = self.cleaned_data
        ids = [data["deployment"], *([data["beside"]] if data["beside"] else [])]
        kept = ("shape", "prompt_tokens", "completion_tokens", "samples_jsonl", "seed", "name")
        return {
            **{name: data[name] for name in kept},
            "deployment_ids": ids,
            "load": self._load(),
            "limits": self._limits(),
        }

    def _load(self) -> Load:
        data = self.cleaned_data
        return Load(
            kind=LoadKind(data["load"].removeprefix("ramp_")),
            levels=data["levels"],
            is_ramp=data["load"].startswith("ramp_"),
            seconds=data["seconds"],
            warm_up_seconds=data["warm_up_seconds"],
        )

    def _limits(self) -> Limits:
        data = self.cleaned_data
        percent = data["error_percent"]
        return Limits(
            error_share=None if percent is None else percent / 100,
            first_token_p90_seconds=data["first_token_p90_seconds"],
            inter_token_p90_seconds=data["inter_token_p90_seconds"],
        )
