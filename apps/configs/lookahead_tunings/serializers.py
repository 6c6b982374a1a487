from typing import Any

from rest_framework import serializers

from apps.configs.lookahead_tunings import examples
from apps.configs.lookahead_tunings.services import MOST_REQUESTS
from apps.rest.examples import shown_as
from apps.rest.failure_object import FailureObject
from apps.rest.paging import page_schema
from apps.rest.serializers import StrictSerializer


@shown_as(examples.WANTED)
class TuningBody(StrictSerializer):
    config_id = serializers.CharField(
        max_length=16, help_text="The config whose model, GPU and runtime count."
    )
    revision = serializers.IntegerField(
        min_value=1,
        max_value=999_999_999,
        required=False,
        help_text="Number of the revision; the last one when absent.",
    )
    dataset = serializers.CharField(
        max_length=512,
        help_text="A set that the team uploaded, `team/NAME`, with `prompt` and `completion` or "
        "`messages`; or the samples of a model's own traffic, `traffic/MODEL_ID`.",
    )
    requests = serializers.IntegerField(
        min_value=1,
        max_value=MOST_REQUESTS,
        default=1,
        help_text="How many requests run at once, for which to recommend.",
    )


class LookaheadSettingObject(serializers.Serializer[Any]):
    manner = serializers.ChoiceField(
        choices=["off", "by_match", "filled", "suffix"],
        help_text="How the runtime makes the length of a draft.",
    )
    longest_draft_tokens = serializers.IntegerField(help_text="Tokens of the longest draft.")
    draft_factor = serializers.IntegerField(help_text="Tokens for each token of the match.")


class AcceptedAtObject(serializers.Serializer[Any]):
    position = serializers.IntegerField(help_text="Place in the draft, from 1.")
    share = serializers.FloatField(help_text="Share of the drafts accepted up to there.")


class PredictedSpeedObject(serializers.Serializer[Any]):
    requests = serializers.IntegerField(help_text="Requests at once.")
    ratio = serializers.FloatField(help_text="Speed to that without lookahead.")
    tokens_per_second = serializers.FloatField(
        allow_null=True, help_text="Of all of them together; null where only ratios are known."
    )


class TunedSettingObject(serializers.Serializer[Any]):
    setting = LookaheadSettingObject(help_text="What was tried.")
    words = serializers.CharField(help_text="The same in words.")
    tokens_per_step = serializers.FloatField(help_text="Tokens that a step of one request brings.")
    drafted_share = serializers.FloatField(help_text="Share of the steps with a draft.")
    tokens_per_draft = serializers.FloatField(help_text="How long a draft is.")
    acceptance_by_position = AcceptedAtObject(
        many=True, help_text="How far drafts were accepted, at telling positions."
    )
    by_batch = PredictedSpeedObject(many=True, help_text="Speeds by requests at once.")
    helps_up_to = serializers.IntegerField(
        help_text="Requests at once up to which it is faster than without; 0: never."
    )


class RecommendedSettingObject(serializers.Serializer[Any]):
    setting = LookaheadSettingObject(help_text="What to serve with.")
    words = serializers.CharField(help_text="The same in words.")
    sentence = serializers.CharField(help_text="Why.")
    changes = serializers.BooleanField(help_text="Whether the revision says something else.")


class TuningResultObject(serializers.Serializer[Any]):
    commit = serializers.CharField(
        allow_blank=True,
        help_text="Of the checkpoint whose tokenizer was used; empty for own traffic.",
    )
    conversations = serializers.IntegerField(help_text="Rows with an answer.")
    answers = serializers.IntegerField(help_text="Answers that were said again.")
    prompt_tokens = serializers.IntegerField(help_text="Tokens that the model had read.")
    answer_tokens = serializers.IntegerField(help_text="Tokens of the answers.")
    runtime = serializers.CharField(help_text="What serves the config.")
    device = serializers.CharField(help_text="The kind of GPU, or the CPU.")
    basis = serializers.CharField(
        allow_blank=True, help_text="What the speeds rest on; empty where no time is known."
    )
    now = LookaheadSettingObject(help_text="What the revision says.")
    recommended = RecommendedSettingObject(
        allow_null=True, help_text="What to serve with; null where no time is known."
    )
    settings = TunedSettingObject(many=True, help_text="Every setting that was tried.")


class TuningProgressObject(serializers.Serializer[Any]):
    done = serializers.IntegerField(source="progress_done", help_text="How far it is.")
    total = serializers.IntegerField(
        source="progress_total", allow_null=True, help_text="Of how many; null where unknown."
    )
    unit = serializers.CharField(
        source="progress_unit", help_text="`bytes`, then `answers`; or `gateways`."
    )


@shown_as(examples.TUNING)
class TuningObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    config_id = serializers.CharField(
        source="revision.config_id", help_text="The config that it was made for."
    )
    revision = serializers.IntegerField(
        source="revision.number", help_text="Number of the revision."
    )
    dataset = serializers.CharField(help_text="The set whose answers were said again.")
    requests = serializers.IntegerField(help_text="Requests at once, for the recommendation.")
    state = serializers.ChoiceField(
        choices=["waiting", "running", "finished", "failed", "cancelled"], help_text="Where it is."
    )
    progress = TuningProgressObject(source="*", help_text="How far it is.")
    result = TuningResultObject(
        allow_null=True, help_text="What it found; null until it has finished."
    )
    failure = FailureObject(allow_null=True, help_text="Why it failed; null where it did not.")
    made_revision = serializers.IntegerField(
        source="made_revision.number",
        default=None,
        allow_null=True,
        help_text="Number of the revision that took the recommendation over.",
    )
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


@shown_as(examples.APPLIED)
class AppliedTuningObject(serializers.Serializer[Any]):
    config_id = serializers.CharField(help_text="The config.")
    revision = serializers.IntegerField(
        help_text="Number of its revision with the recommended setting."
    )


TuningPage = page_schema(TuningObject)
