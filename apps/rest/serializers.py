"""Serializers that say what they expect: an unknown field is an error with a suggestion."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from rest_framework import serializers


class StrictSerializer(serializers.Serializer[Any]):
    """A request body or query: every field known, none ignored in silence."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = self._unknown(data) if isinstance(data, dict) else {}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if not unknown or not isinstance(error.detail, dict):
                raise
            raise serializers.ValidationError(unknown | error.detail) from None
        if unknown:
            raise serializers.ValidationError(unknown)
        return values

    def _unknown(self, data: dict[Any, Any]) -> dict[str, Any]:
        names = sorted(str(name) for name in set(data) - set(self.fields))
        return {
            name: serializers.ErrorDetail(unknown_field(name, self.fields), code="unknown_field")
            for name in names
        }


def unknown_field(name: str, known: Iterable[str]) -> str:
    """Return what to say of a field that nobody knows."""
    close = get_close_matches(name, list(known), n=1)
    advice = f"did you mean `{close[0]}`?" if close else f"known are {_listed(known)}."
    return f"`{name}` is not a known field; {advice}"


def validated(serializer: type[StrictSerializer], data: Any) -> dict[str, Any]:
    """Return the data as the serializer reads it, or raise every error at once."""
    plain = data.dict() if hasattr(data, "dict") else data
    reader = serializer(data=plain)
    reader.is_valid(raise_exception=True)
    values: dict[str, Any] = reader.validated_data
    return values


class ErrorSource(serializers.Serializer[Any]):
    """Which document an error relies on."""

    document = serializers.CharField()
    section = serializers.CharField()
    checked = serializers.CharField()


class Error(serializers.Serializer[Any]):
    """The body of every answer that is not a success."""

    code = serializers.CharField(help_text="Permanent name of the kind of error.")
    message = serializers.CharField(help_text="What happened, in the values of the request.")
    fields = serializers.ListField(  # type: ignore[assignment]
        child=serializers.CharField(), help_text="Dotted paths of the fields at fault."
    )
    hint = serializers.CharField(allow_null=True, help_text="What to do next.")
    source = ErrorSource(allow_null=True)  # type: ignore[assignment]
    details = serializers.DictField(
        required=False, help_text="What else a program needs to react; absent in most errors."
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
