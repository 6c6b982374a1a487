from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.deployments import examples
from apps.rest.examples import shown_as
from apps.rest.serializers import StrictSerializer
from controlplane.domain.lifecycle import AnswerCheckState
from controlplane.domain.rolling.answer_comparison import Outcome
from controlplane.domain.rolling.answer_guard import (
    LIMITS,
    MOST_PROMPTS,
    Prompt,
    PromptProblem,
    read_prompts,
    schema_of,
    shown,
)
from controlplane.domain.rolling.slo_guard import GuardAction

_PROMPT = {"oneOf": [{"type": "string"}, {"type": "object", "additionalProperties": True}]}


@extend_schema_field({"type": "array", "items": _PROMPT, "maxItems": MOST_PROMPTS, "minItems": 1})
class PromptsField(serializers.Field[list[Prompt], Any, Any, Any]):
    """Texts, and bodies of chat completions."""

    def to_internal_value(self, data: Any) -> list[Prompt]:
        try:
            return read_prompts(data)
        except PromptProblem as problem:
            raise serializers.ValidationError(str(problem)) from None

    def to_representation(self, value: Any) -> Any:
        return value


class AnswerGuardBody(StrictSerializer):
    """Asks both deployments the same before any traffic moves, and compares what they answer."""

    prompts = PromptsField(
        required=False,
        help_text="Texts, or bodies of chat completions; at most 256 KiB. Those that are set stay "
        "where none are sent.",
    )
    min_equal_percent = serializers.IntegerField(
        min_value=LIMITS["min_equal_percent"][0],
        max_value=LIMITS["min_equal_percent"][1],
        help_text="So many of the answers are to be equal, in percent.",
    )
    max_length_difference_percent = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=LIMITS["max_length_difference_percent"][0],
        max_value=LIMITS["max_length_difference_percent"][1],
        help_text="By so much may all answers together be longer or shorter; null: by any.",
    )
    require_valid_schema = serializers.BooleanField(
        required=False,
        help_text="Whether each of its answers holds to the JSON schema of its prompt.",
    )
    action = serializers.ChoiceField(
        required=False,
        choices=[each.value for each in GuardAction],
        help_text="What becomes of a promotion to a candidate that answers otherwise.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        prompts = attrs.get("prompts")
        if prompts and attrs.get("require_valid_schema") and not any(map(schema_of, prompts)):
            raise serializers.ValidationError(
                {"require_valid_schema": "No prompt has a `response_format` with a JSON schema. "
                 "Send one, or leave this out."}
            )  # fmt: skip
        return attrs


class AnswerGuardObject(serializers.Serializer[Any]):
    """The answer guard without its prompts, which may be many: `…/answer_guard` has them."""

    prompt_count = serializers.SerializerMethodField(help_text="How many prompts are asked.")
    min_equal_percent = serializers.IntegerField(
        help_text="So many of the answers are to be equal, in percent."
    )
    max_length_difference_percent = serializers.IntegerField(
        allow_null=True,
        default=None,
        help_text="By so much may all answers together be longer or shorter; null: by any.",
    )
    require_valid_schema = serializers.BooleanField(
        default=False,
        help_text="Whether each of its answers holds to the JSON schema of its prompt.",
    )
    action = serializers.ChoiceField(
        choices=[each.value for each in GuardAction],
        default=GuardAction.PAUSE.value,
        help_text="What becomes of a promotion to a candidate that answers otherwise.",
    )

    def get_prompt_count(self, guard: Mapping[str, Any]) -> int:
        return len(guard["prompts"])


@shown_as(examples.ANSWER_GUARD)
class AnswerGuardWithPrompts(AnswerGuardObject):
    """The answer guard whole."""

    prompts = PromptsField(help_text="Texts, or bodies of chat completions.")


def answer_guard_field() -> AnswerGuardBody:
    return AnswerGuardBody(
        required=False,
        allow_null=True,
        help_text="Ours: prompts that both are asked before any traffic moves; null: none.",
    )


class DeploymentAnswerObject(serializers.Serializer[Any]):
    """What one deployment said."""

    text = serializers.CharField(help_text="Its beginning, with what it calls.")
    characters = serializers.IntegerField(help_text="Of the whole answer.")
    error_message = serializers.CharField(
        source="failure", help_text="Why nothing came; empty where something did."
    )
    holds_to_schema = serializers.BooleanField(
        source="is_valid",
        allow_null=True,
        help_text="By the JSON schema of the prompt; null where it names none.",
    )


class AnswerPairObject(serializers.Serializer[Any]):
    """Both answers to one prompt."""

    number = serializers.IntegerField(help_text="Of the prompt, from 1.")
    prompt = serializers.SerializerMethodField(help_text="The beginning of what was asked.")
    is_equal = serializers.BooleanField(help_text="Whether both said the same.")
    differs_at = serializers.IntegerField(
        allow_null=True, help_text="The first character that is not the same, from 0."
    )
    candidate = DeploymentAnswerObject(help_text="What the candidate said.")
    current = DeploymentAnswerObject(help_text="What the deployment in place said.")

    def get_prompt(self, pair: Any) -> str:
        return shown(self.context["prompts"][pair.number - 1])


@shown_as(examples.ANSWER_CHECK)
class AnswerCheckObject(serializers.Serializer[Any]):
    """The last time that both deployments of a promotion were asked."""

    id = serializers.CharField()
    candidate_id = serializers.CharField(help_text="The deployment that it moves to.")
    current_id = serializers.CharField(help_text="The deployment that was in place.")
    state = serializers.ChoiceField(
        choices=[each.value for each in AnswerCheckState], help_text="How far it is."
    )
    outcome = serializers.ChoiceField(
        choices=["", *(each.value for each in Outcome)],
        help_text="What the answers came to; empty until all are there.",
    )
    sentence = serializers.CharField(help_text="The same in words, with the prompts that decided.")
    created_at = serializers.DateTimeField(help_text="When the promotion began.")
    finished_at = serializers.DateTimeField(allow_null=True, help_text="When all were there.")
    prompts = serializers.SerializerMethodField(help_text="How many are asked.")
    answers = AnswerPairObject(source="pairs", many=True, help_text="Side by side.")

    def get_prompts(self, check: Any) -> int:
        return len(check.prompts)
