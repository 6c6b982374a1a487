"""Restricted environments in the hosted product's shapes (management API, 2026-08-22)."""

from typing import Any

from rest_framework import serializers

from apps.accounts import examples
from apps.accounts.models import RestrictedEnvironment, User
from apps.rest.examples import shown_as
from apps.rest.paging import Pagination
from apps.rest.serializers import PatternField, StrictSerializer


class RestrictedPersonObject(serializers.Serializer[User]):
    user_id = serializers.CharField(source="id")
    email = serializers.CharField()


@shown_as(examples.RESTRICTION)
class RestrictedEnvironmentObject(serializers.Serializer[RestrictedEnvironment]):
    name = serializers.CharField(help_text="Name of the environment, in every model of the team.")
    people = RestrictedPersonObject(many=True, help_text="Who may change it.")
    created_at = serializers.DateTimeField()


class RestrictedEnvironmentListObject(serializers.Serializer[Any]):
    restricted_environments = RestrictedEnvironmentObject(
        many=True, help_text="Environments that not all members may change."
    )
    pagination = Pagination()


@shown_as(examples.RESTRICTION_PEOPLE)
class RestrictedEnvironmentPeopleBody(StrictSerializer):
    user_ids = serializers.ListField(
        child=serializers.CharField(max_length=16),
        max_length=1000,
        help_text="Who may change it from now on.",
    )


def environment_name() -> PatternField:
    return PatternField(
        r"^[a-z0-9][a-z0-9_-]{0,63}$",
        says="is no name of an environment: 1 to 64 lower-case letters, digits, `-` and `_`, "
        "beginning with a letter or a digit.",
    )


@shown_as(examples.RESTRICTION_WANTED)
class RestrictedEnvironmentBody(StrictSerializer):
    name = environment_name()
    user_ids = serializers.ListField(
        child=serializers.CharField(max_length=16),
        max_length=1000,
        required=False,
        help_text="Who may change it.",
    )
